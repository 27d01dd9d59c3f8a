import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApiPath } from '../../src/server/openapi/build-openapi.ts';
import { routes } from '../../src/server/routes/routes.ts';
import { chatLine, chatLines } from './support/jsonl.ts';
import { uploadForm } from './support/multipart.ts';
import { type CallResult, type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
let document: Json;
const ajv = new Ajv2020({ strict: false, validateFormats: false });

beforeAll(async () => {
  app = await startServer();
  document = (await app.call('GET', '/openapi.json', { key: null })).json;
});
afterAll(() => app.stop());

const operationOf = (method: string, path: string): Json => document.paths[path][method.toLowerCase()];

/** Fails unless the document describes this response: its status, content type and body. */
function expectDescribed(method: string, path: string, answer: CallResult): void {
  const operation = operationOf(method, path);
  const described = operation.responses[String(answer.status)];
  expect(described, `${method} ${path} may answer ${answer.status}`).toBeDefined();
  const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
  expect(Object.keys(described.content)).toEqual([type]);
  const { schema } = described.content[type];
  if (!schema) return;
  const whole = schema.$ref ? document.components.schemas.Error : schema;
  const valid = ajv.validate(whole, answer.json);
  expect(valid, `${method} ${path} ${answer.status}: ${ajv.errorsText()}\n${answer.text}`).toBe(true);
}

describe('the OpenAPI document', () => {
  it('has exactly the routes of the server', () => {
    const served = routes.map(({ method, path }) => `${method} ${openApiPath(path)}`).toSorted();
    const described = Object.entries<object>(document.paths)
      .flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
      )
      .toSorted();
    expect(described).toEqual(served);
  });

  it('is OpenAPI 3.1 with unique operation ids and schemas that compile', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { title: 'Offpeak', version: '1.2.3' } });
    const operations = Object.values<Record<string, Json>>(document.paths).flatMap((path) =>
      Object.values(path),
    );
    const ids = operations.map((operation) => operation.operationId as string);
    expect(new Set(ids).size).toBe(ids.length);
    for (const operation of operations) {
      const contents = [
        operation.requestBody?.content,
        ...Object.values<Json>(operation.responses).map((answer) => answer.content),
      ];
      for (const content of contents)
        for (const { schema } of Object.values<Json>(content ?? {}))
          if (schema && !schema.$ref) expect(() => ajv.compile(schema), operation.operationId).not.toThrow();
    }
  });

  it('has the expected operations', () => {
    const names =
      'listBatches createBatch getBatch cancelBatch batchOutput batchErrors listFiles createFile retrieveFile deleteFile fileContent chatCompletions messages';
    const ids = Object.values<Record<string, Json>>(document.paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(ids).toEqual(expect.arrayContaining(names.split(' ')));
  });

  it('requires a key exactly where one is needed', async () => {
    for (const { method, path, access } of routes) {
      const operation = operationOf(method, openApiPath(path));
      expect(operation.security, path).toEqual(access === 'open' ? [] : [{ key: [] }]);
    }
  });
});

describe('real responses', () => {
  it('match the document', async () => {
    const { body, headers } = uploadForm(chatLines(1));
    const file = await app.call('POST', '/v1/files', { headers, body: body as never });
    expectDescribed('POST', '/v1/files', file);
    const batchBody = {
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      requests: [chatLine(0)],
      metadata: { a: 1 },
    };
    const batch = await app.call('POST', '/v1/batches', { json: batchBody });
    expectDescribed('POST', '/v1/batches', batch);
    const at = `/v1/batches/${batch.json.id}`;
    await expect.poll(async () => (await app.call('GET', at)).json.status).toBe('completed');
    expectDescribed('GET', '/v1/batches/{batch_id}', await app.call('GET', at));
    expectDescribed('GET', '/v1/batches/{batch_id}/output', await app.call('GET', `${at}/output`));
    expectDescribed('GET', '/v1/batches/{batch_id}/errors', await app.call('GET', `${at}/errors`));
    expectDescribed('POST', '/v1/batches/{batch_id}/cancel', await app.call('POST', `${at}/cancel`));
    expectDescribed('POST', '/v1/batches/{batch_id}/pause', await app.call('POST', `${at}/pause`));
    expectDescribed('POST', '/v1/batches/{batch_id}/resume', await app.call('POST', `${at}/resume`));
    expectDescribed('POST', '/v1/batches/{batch_id}/retry', await app.call('POST', `${at}/retry`));
    expectDescribed('GET', '/v1/batches', await app.call('GET', '/v1/batches'));
    const fileAt = `/v1/files/${file.json.id}`;
    expectDescribed('GET', '/v1/files', await app.call('GET', '/v1/files'));
    expectDescribed('GET', '/v1/files/{file_id}', await app.call('GET', fileAt));
    expectDescribed('GET', '/v1/files/{file_id}/content', await app.call('GET', `${fileAt}/content`));
    expectDescribed('DELETE', '/v1/files/{file_id}', await app.call('DELETE', fileAt));
    expectDescribed('GET', '/v1/files/{file_id}', await app.call('GET', fileAt));
    const chat = { model: 'tiny', messages: [{ role: 'user', content: 'x' }] };
    expectDescribed(
      'POST',
      '/v1/chat/completions',
      await app.call('POST', '/v1/chat/completions', { json: chat }),
    );
    expectDescribed(
      'POST',
      '/v1/chat/completions',
      await app.call('POST', '/v1/chat/completions', { json: {} }),
    );
    const failing = { model: 'tiny', messages: [{ role: 'user', content: '[[fail 500]]' }] };
    expectDescribed(
      'POST',
      '/v1/chat/completions',
      await app.call('POST', '/v1/chat/completions', { json: failing }),
    );
    const message = { ...chat, max_tokens: 5 };
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      expectDescribed('POST', path, await app.call('POST', path, { json: message }));
      expectDescribed('POST', path, await app.call('POST', path, { json: {} }));
      expectDescribed('POST', path, await app.call('POST', path, { json: { ...message, model: 'nope' } }));
    }
    const called = {
      ...message,
      tools: [{ name: 'a', input_schema: { type: 'object' } }],
      tool_choice: { type: 'any' },
    };
    expectDescribed('POST', '/v1/messages', await app.call('POST', '/v1/messages', { json: called }));
    for (const encoding_format of ['float', 'base64'])
      expectDescribed(
        'POST',
        '/v1/embeddings',
        await app.call('POST', '/v1/embeddings', { json: { model: 'tiny', input: 'x', encoding_format } }),
      );
    const asked = { model: 'tiny', input: 'x [[tool f {}]]', tools: [{ type: 'function', name: 'f' }] };
    const response = await app.call('POST', '/v1/responses', { json: asked });
    expectDescribed('POST', '/v1/responses', response);
    expectDescribed('POST', '/v1/responses', await app.call('POST', '/v1/responses', { json: {} }));
    const tokens = await app.call('POST', '/v1/responses/input_tokens', { json: asked });
    expectDescribed('POST', '/v1/responses/input_tokens', tokens);
    const compacted = await app.call('POST', '/v1/responses/compact', { json: { ...asked, input: 'x' } });
    expectDescribed('POST', '/v1/responses/compact', compacted);
    const responseAt = `/v1/responses/${response.json.id}`;
    const of = '/v1/responses/{response_id}';
    expectDescribed('GET', of, await app.call('GET', responseAt));
    const items = await app.call('GET', `${responseAt}/input_items`);
    expectDescribed('GET', `${of}/input_items`, items);
    expectDescribed('POST', `${of}/cancel`, await app.call('POST', `${responseAt}/cancel`));
    const chatPath = '/v1/chat/completions';
    const stored = await app.call('POST', chatPath, { json: { ...chat, store: true } });
    expectDescribed('GET', chatPath, await app.call('GET', chatPath));
    const chatAt = `${chatPath}/${stored.json.id}`;
    const ofChat = `${chatPath}/{completion_id}`;
    expectDescribed('GET', ofChat, await app.call('GET', chatAt));
    expectDescribed('GET', `${ofChat}/messages`, await app.call('GET', `${chatAt}/messages`));
    for (const json of [{ metadata: { a: 'b' } }, {}])
      expectDescribed('POST', ofChat, await app.call('POST', chatAt, { json }));
    expectDescribed('DELETE', ofChat, await app.call('DELETE', chatAt));
    const create = { items: [{ role: 'user', content: 'x' }] };
    const conversation = await app.call('POST', '/v1/conversations', { json: create });
    expectDescribed('POST', '/v1/conversations', conversation);
    const conversationAt = `/v1/conversations/${conversation.json.id}`;
    const ofConversation = '/v1/conversations/{conversation_id}';
    expectDescribed('GET', ofConversation, await app.call('GET', conversationAt));
    for (const json of [{ metadata: { a: 'b' } }, {}])
      expectDescribed('POST', ofConversation, await app.call('POST', conversationAt, { json }));
    const added = await app.call('POST', `${conversationAt}/items`, { json: create });
    expectDescribed('POST', `${ofConversation}/items`, added);
    expectDescribed('GET', `${ofConversation}/items`, await app.call('GET', `${conversationAt}/items`));
    const itemAt = `${conversationAt}/items/${added.json.data[0].id}`;
    expectDescribed('GET', `${ofConversation}/items/{item_id}`, await app.call('GET', itemAt));
    expectDescribed('DELETE', `${ofConversation}/items/{item_id}`, await app.call('DELETE', itemAt));
    const inIt = { model: 'tiny', input: 'x', conversation: conversation.json.id };
    expectDescribed('POST', '/v1/responses', await app.call('POST', '/v1/responses', { json: inIt }));
    expectDescribed('DELETE', ofConversation, await app.call('DELETE', conversationAt));
    expectDescribed('DELETE', of, await app.call('DELETE', responseAt));
    expectDescribed('DELETE', of, await app.call('DELETE', responseAt));
    const receiver = { url: 'http://127.0.0.1:9/' };
    const webhook = await app.call('POST', '/v1/webhooks', { json: receiver });
    expectDescribed('POST', '/v1/webhooks', webhook);
    const webhookAt = `/v1/webhooks/${webhook.json.id}`;
    const ofWebhook = '/v1/webhooks/{webhook_id}';
    const changed = await app.call('PATCH', webhookAt, { json: { enabled: false } });
    expectDescribed('PATCH', ofWebhook, changed);
    expectDescribed('GET', ofWebhook, await app.call('GET', webhookAt));
    expectDescribed('GET', '/v1/webhooks', await app.call('GET', '/v1/webhooks'));
    expectDescribed('POST', `${ofWebhook}/rotate`, await app.call('POST', `${webhookAt}/rotate`));
    const tested = await app.call('POST', `${webhookAt}/test`);
    expectDescribed('POST', `${ofWebhook}/test`, tested);
    expectDescribed('GET', `${ofWebhook}/deliveries`, await app.call('GET', `${webhookAt}/deliveries`));
    const replay = (id: string) => app.call('POST', `/v1/webhooks/deliveries/${id}/replay`);
    const replayPath = '/v1/webhooks/deliveries/{delivery_id}/replay';
    expectDescribed('POST', replayPath, await replay(tested.json.id));
    await app.call('PATCH', webhookAt, { json: { enabled: true } });
    expectDescribed('POST', replayPath, await replay(tested.json.id));
    expectDescribed('DELETE', ofWebhook, await app.call('DELETE', webhookAt));
    expectDescribed('DELETE', ofWebhook, await app.call('DELETE', webhookAt));
    for (let i = 0; i < 21; i++) {
      const made = await app.call('POST', '/v1/webhooks', { json: receiver });
      expect(made.status).toBe(i < 20 ? 201 : 409);
      expectDescribed('POST', '/v1/webhooks', made);
    }
    expectDescribed('GET', '/v1/models', await app.call('GET', '/v1/models'));
    expectDescribed('GET', '/v1/models/{model}', await app.call('GET', '/v1/models/tiny'));
    expectDescribed('GET', '/v1/models/{model}', await app.call('GET', '/v1/models/nope'));
    const admin = (method: string, path: string, json?: object) =>
      app.call(method, path, { key: app.keys.admin, ...(json && { json }) });
    const org = await admin('POST', '/v1/admin/orgs', { name: 'x' });
    expectDescribed('POST', '/v1/admin/orgs', org);
    const key = await admin('POST', '/v1/admin/keys', { org_id: org.json.id });
    expectDescribed('POST', '/v1/admin/keys', key);
    expectDescribed('GET', '/v1/admin/orgs', await admin('GET', '/v1/admin/orgs'));
    expectDescribed('GET', '/v1/admin/keys', await admin('GET', '/v1/admin/keys'));
    expectDescribed(
      'DELETE',
      '/v1/admin/keys/{key_id}',
      await admin('DELETE', `/v1/admin/keys/${key.json.id}`),
    );
    expectDescribed('GET', '/v1/admin/keys', await app.call('GET', '/v1/admin/keys'));
  });
});

describe('described queries', () => {
  const queries = routes.flatMap((route) =>
    Object.entries(route.docs.query ?? {}).map(
      ([name, schema]) => [`${route.path}?${name}`, route.path, name, schema as Json] as const,
    ),
  );
  const answer = async (path: string, name: string, value: string | number) => {
    const key = path.startsWith('/v1/admin') ? app.keys.admin : app.keys.a;
    return (await app.call('HEAD', `${path}?${name}=${value}`, { key })).status;
  };

  it.each(queries.filter(([, path]) => !path.includes(':')))(
    '%s accepts its documented parameters and no others',
    async (_name, path, name, schema) => {
      for (const value of schema.enum ?? []) expect(await answer(path, name, value), value).toBe(200);
      if (schema.enum) expect(await answer(path, name, 'other')).toBe(422);
      if (schema.maximum === undefined) return;
      for (const value of [schema.minimum, schema.default ?? schema.minimum, schema.maximum])
        expect(await answer(path, name, value)).toBe(200);
      for (const value of [schema.minimum - 1, schema.maximum + 1, 'x'])
        expect(await answer(path, name, value)).toBe(422);
    },
  );
});
