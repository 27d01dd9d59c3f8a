import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { routes } from '../../src/server/routes/routes.ts';
import { createSurfaces, type SurfaceConfig } from '../../src/server/surfaces.ts';
import { batchEndpoints } from '../../src/core/batch.ts';
import { withModel } from '../../src/server/request/model-in-path.ts';
import { chatLine, chatLines } from './support/jsonl.ts';
import { uploadForm } from './support/multipart.ts';
import {
  type CallOptions,
  type Json,
  type RunningServer,
  startServer,
  testLimits,
} from './support/start-server.ts';

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const endpoint = '/v1/chat/completions';
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const { requestsPerBatch } = testLimits;

/** Lines as Azure's clients write them. */
const azureLines = (count: number) => azureLinesOf(chatLines(count));

const post = (path: string, json: unknown, how: CallOptions = {}) => app.call('POST', path, { json, ...how });
const upload = (path: string, lines: string, how: CallOptions = {}) => {
  const { body, headers } = uploadForm(lines);
  return app.call('POST', path, { ...how, body, headers: { ...how.headers, ...headers } });
};
const create = (path: string, file: string, more: object = {}, how: CallOptions = {}) =>
  post(path, { input_file_id: file, endpoint, completion_window: '24h', ...more }, how);

/** The batch at `/v1` when it has ended. */
async function ended(id: string): Promise<Json> {
  const { json } = await app.call('GET', `/v1/batches/${id}`);
  await app.call('GET', `/v1/batches/${id}/events`);
  return json.completed_at ? json : (await app.call('GET', `/v1/batches/${id}`)).json;
}

describe.each([
  ['/openai', 'api-key', 'x-api-key', ['messages', 'admin']],
  ['/anthropic', 'x-api-key', 'api-key', undefined],
])('%s', (prefix, header, otherHeader, without) => {
  const resourceOf = (path: string) => path.split('/')[2] ?? '';
  const isServed = (path: string) =>
    without ? !without.includes(resourceOf(path)) : ['messages', 'models'].includes(resourceOf(path));
  const guarded = routes.filter(({ access }) => access !== 'open');
  const pathOf = (path: string) => prefix + path.replace(/:[^/]+/g, 'x').replace('*', 'x');

  it.each(guarded.map((route) => [`${route.method} ${route.path}`, route] as const))(
    `takes ${header} for %s, if it has the route`,
    async (_name, { method, path }) => {
      // The body of an answer may be endless.
      const verb = method === 'GET' ? 'HEAD' : method;
      const call = async (headers: Record<string, string>) =>
        (await app.call(verb, pathOf(path), { key: null, headers })).status;
      const known = await call({ [header]: app.keys.a });
      if (!isServed(path)) return expect([404, 405]).toContain(known);
      expect(known).not.toBe(401);
      expect(await call({ authorization: `Bearer ${app.keys.a}` })).not.toBe(401);
      expect(await call({ [header]: 'wrong' })).toBe(401);
      expect(await call({ [otherHeader]: app.keys.a })).toBe(401);
      expect(await call({})).toBe(401);
    },
  );

  it(`names ${header} to a client without a key, and prefers Authorization`, async () => {
    const { json } = await app.call('GET', `${prefix}/v1/models`, { key: null });
    expect(json.message).toContain(`"${header}: <key>"`);
    const both = { authorization: 'Bearer wrong', [header]: app.keys.a };
    expect((await app.call('GET', `${prefix}/v1/models`, { key: null, headers: both })).status).toBe(401);
  });

  it('names the wrong method, and is no way to open routes', async () => {
    expect((await app.call('DELETE', `${prefix}/v1/models`)).status).toBe(405);
    for (const path of ['/healthz', '/openapi.json', '/metrics'])
      expect((await app.call('GET', prefix + path)).status).toBe(404);
  });
});

describe('/openai', () => {
  it('answers 200 with Unix dates, and /v1 shows the same objects with its own', async () => {
    const file = await upload('/openai/v1/files', chatLines(3));
    expect([file.status, file.json.object]).toEqual([200, 'file']);
    const made = await create('/openai/v1/batches', file.json.id, { model: 'tiny' });
    expect([made.status, made.json.status]).toEqual([200, 'validating']);
    const { created_at: createdAt, expires_at: expiresAt } = made.json;
    expect([Number.isInteger(createdAt), expiresAt - createdAt]).toEqual([true, 86_400]);
    const ordinary = (await app.call('GET', `/v1/batches/${made.json.id}`)).json;
    expect([ordinary.input_file_id, ordinary.created_at]).toEqual([file.json.id, expect.stringMatching(iso)]);
    expect(Date.parse(ordinary.created_at) / 1000).toBe(createdAt);
    await ended(made.json.id);
    for (const path of [`/${made.json.id}`, '', `/${made.json.id}/events`, `/${made.json.id}/history`])
      expect((await app.call('GET', `/openai/v1/batches${path}`)).text).not.toMatch(/\dT\d\d:/);
    expect((await app.call('GET', `/v1/batches/${made.json.id}/events`)).text).toMatch(/\dT\d\d:/);
    const { output_file_id: output } = (await app.call('GET', `/openai/v1/batches/${made.json.id}`)).json;
    const content = await app.call('GET', `/openai/v1/files/${output}/content`);
    expect(content.text.trim().split('\n')).toHaveLength(3);
    const replayed = await create(
      '/openai/v1/batches',
      file.json.id,
      {},
      { headers: { 'idempotency-key': 'k' } },
    );
    const again = await create(
      '/openai/v1/batches',
      file.json.id,
      {},
      { headers: { 'idempotency-key': 'k' } },
    );
    expect([again.status, again.json.id]).toEqual([200, replayed.json.id]);
  });

  it('streams the changes of all batches with its own dates, beside a stream of /v1', async () => {
    const streams = await Promise.all(
      ['/v1', '/openai/v1'].map((base) =>
        fetch(`${app.url}${base}/batches/events`, { headers: { authorization: `Bearer ${app.keys.b}` } }),
      ),
    );
    const file = await upload('/v1/files', chatLines(1), { key: app.keys.b });
    const { json } = await create('/v1/batches', file.json.id, {}, { key: app.keys.b });
    const dates = await Promise.all(
      streams.map(async ({ body }) => {
        let text = '';
        for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
          text += chunk;
          const found = /^data: (\{.*"id":"batch_.*\})$/m.exec(text)?.[1];
          if (found) return JSON.parse(found).created_at;
        }
      }),
    );
    expect(dates).toEqual([json.created_at, Date.parse(json.created_at) / 1000]);
  });

  it('takes five times as many requests here as /v1, which refuses a batch of such a file', async () => {
    const most = 5 * requestsPerBatch;
    const more = await upload('/openai/v1/files', chatLines(most + 1));
    expect([more.status, more.json.error.code]).toEqual([422, 'too_many_tasks']);
    const { json: file } = await upload('/openai/v1/files', chatLines(most));
    const refused = await create('/v1/batches', file.id);
    expect([refused.status, refused.json.error]).toMatchObject([
      422,
      {
        code: 'too_many_tasks',
        param: 'input_file_id',
        message: expect.stringContaining(`at most ${requestsPerBatch} requests`),
      },
    ]);
    const made = await create('/openai/v1/batches', file.id);
    expect(made.json.request_counts.total).toBe(most);
    expect((await create('/openai/v1/batches', file.id, { dry_run: true })).json.request_counts.total).toBe(
      most,
    );
    const long = `${chatLines(1)}${'\n'.repeat(testLimits.bytesPerBatch)}`;
    expect((await upload('/v1/files', long)).status).toBe(413);
    const { json: large } = await upload('/openai/v1/files', long);
    expect((await create('/v1/batches', large.id)).status).toBe(413);
    expect((await create('/openai/v1/batches', large.id)).status).toBe(200);
  });

  it('takes inline requests up to its number', async () => {
    const requests = Array.from({ length: requestsPerBatch + 1 }, (_, n) => chatLine(n));
    const body = { endpoint, completion_window: '24h', requests };
    expect((await post('/v1/batches', body)).json.error.code).toBe('too_many_tasks');
    expect((await post('/openai/v1/batches', body)).status).toBe(200);
  });

  it('retries what failed in a batch that /v1 would not take', async () => {
    const lines = chatLines(requestsPerBatch + 5, { content: () => '[[fail 400]]' });
    const { json: file } = await upload('/openai/v1/files', azureLinesOf(lines));
    const { json: made } = await create('/openai/v1/batches', file.id);
    expect((await ended(made.id)).request_counts.failed).toBe(requestsPerBatch + 5);
    const retried = await post(`/v1/batches/${made.id}/retry`, undefined);
    expect([retried.status, retried.json.request_counts.total]).toEqual([201, requestsPerBatch + 5]);
  });

  it.each([
    ['/openai/files', '/openai/batches'],
    ['/openai/v1/files', '/openai/v1/batches'],
  ])('runs a batch as Azure’s clients write it: %s', async (files, batches) => {
    const azure = { key: null, headers: { 'api-key': app.keys.a } };
    const version = '?api-version=2024-10-21';
    const file = await upload(files + version, azureLines(2), azure);
    expect(file.status).toBe(200);
    const short = { endpoint: '/chat/completions' };
    const made = await create(batches + version, file.json.id, short, azure);
    expect([made.status, made.json.endpoint]).toEqual([200, endpoint]);
    expect((await ended(made.json.id)).request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
    const list = await app.call('GET', `${batches}${version}&limit=1`, azure);
    expect(list.json.data[0].id).toBe(made.json.id);
    expect((await app.call('GET', `${files}/${file.json.id}/content${version}`, azure)).text).toBe(
      azureLines(2),
    );
    const full = await create('/v1/batches', file.json.id);
    expect(full.json.endpoint).toBe(endpoint);
  });

  it('takes endpoints behind the path of a base URL, in a batch and its lines', async () => {
    const linesAt = (url: string) => chatLines(2).replaceAll(endpoint, url);
    const full = `/openai${endpoint}`;
    const { json: file } = await upload('/openai/v1/files', linesAt(full));
    const { json: made } = await create('/openai/v1/batches', file.id, { endpoint: full });
    expect(made.endpoint).toBe(endpoint);
    expect((await ended(made.id)).request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
    for (const url of [
      `https://host${endpoint}`,
      `openai${endpoint}`,
      '/openai/v1/nothing',
      '/openai/embeddings',
    ])
      expect([url, (await upload('/openai/v1/files', linesAt(url))).status]).toEqual([url, 422]);
    expect((await upload('/v1/files', linesAt(full))).status).toBe(422);
  });

  it('takes the model of a single call from the path, as Azure’s clients write it', async () => {
    const azure = { key: null, headers: { 'api-key': app.keys.a } };
    const call = (deployment: string, path: string, body: unknown) =>
      post(`/openai/deployments/${deployment}/${path}?api-version=2024-10-21`, body, azure);
    const messages = [{ role: 'user', content: 'hi' }];
    for (const named of [{}, { model: 'tiny' }, { model: 'none' }]) {
      const { status, json, headers } = await call('tiny', 'chat/completions', { ...named, messages });
      expect([status, json.model, json.choices[0].message.content]).toEqual([200, 'tiny', 'Echo: hi']);
      expect(headers.get('x-offpeak-model')).toBe('tiny');
    }
    const streamed = await call('tiny', 'chat/completions', { messages, stream: true });
    expect(streamed.text).toContain('data: [DONE]');
    expect((await call('org%2Fmodel:tag', 'chat/completions', { messages })).json.model).toBe(
      'org/model:tag',
    );
    expect((await call('vectors', 'embeddings', { input: 'a' })).json.data).toHaveLength(1);
    expect((await call('tiny', 'completions', { prompt: 'hi' })).json.object).toBe('text_completion');
    expect((await call('none', 'chat/completions', { model: 'tiny', messages })).status).toBe(404);
  });

  it('tells what is wrong with a body of a deployment, and has no other calls there', async () => {
    const at = '/openai/deployments/tiny';
    const send = (body: string) =>
      app.call('POST', `${at}/chat/completions`, { body, headers: { 'content-type': 'application/json' } });
    for (const body of ['', '{', '{"messages": [', '[1]', 'null', '{"model": 1', '{}', '{"messages": []}'])
      expect([body, (await send(body)).status]).toEqual([body, 422]);
    const { json } = await send('{"model": "a", "model": "b", "messages": []}');
    expect(json.error.code).toBe('duplicate_key');
    expect((await app.call('POST', `${at}/files`)).status).toBe(404);
    expect((await app.call('GET', `${at}/chat/completions`)).status).toBe(405);
  });

  it('keeps /v1 as it is: full endpoints, no model, Authorization alone', async () => {
    const file = await upload('/v1/files', azureLines(1));
    expect([file.status, file.json.error.details.errors[0]]).toMatchObject([
      422,
      { code: 'url_mismatch', message: expect.stringContaining(`write "${endpoint}"`) },
    ]);
    const { json } = await upload('/v1/files', chatLines(1));
    expect(await create('/v1/batches', json.id, { endpoint: '/chat/completions' })).toMatchObject({
      status: 422,
    });
    expect(await create('/v1/batches', json.id, { model: 'tiny' })).toMatchObject({ status: 422 });
    expect(await create('/openai/v1/batches', json.id, { nonsense: 1 })).toMatchObject({ status: 422 });
  });

  it('opens a WebSocket for responses', async () => {
    const socket = new WebSocket(`${app.url.replace('http', 'ws')}/openai/v1/responses`, {
      headers: { 'api-key': app.keys.a },
    });
    const done = new Promise<Json>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('message', (data: Buffer) => {
        const event = JSON.parse(data.toString());
        if (event.type === 'response.completed') resolve(event.response);
      });
    });
    socket.on('open', () =>
      socket.send(JSON.stringify({ type: 'response.create', model: 'tiny', input: 'hi' })),
    );
    expect((await done).status).toBe('completed');
    socket.close();
  });
});

describe('/anthropic', () => {
  const params = { model: 'tiny', max_tokens: 20, messages: [{ role: 'user', content: 'hi' }] };
  const key = () => ({ key: null, headers: { 'x-api-key': app.keys.a } });

  it('runs messages and batches of them, which are batches at /v1, too', async () => {
    expect((await post('/anthropic/v1/messages', params, key())).json.type).toBe('message');
    const requests = [{ custom_id: 'a', params }];
    const { status, json } = await post('/anthropic/v1/messages/batches', { requests }, key());
    expect([status, json.type]).toEqual([200, 'message_batch']);
    expect((await ended(json.id)).endpoint).toBe('/v1/messages');
    const own = await app.call('GET', `/anthropic/v1/messages/batches/${json.id}`, key());
    expect(own.json.results_url).toBe(`${app.url}/anthropic/v1/messages/batches/${json.id}/results`);
    const listed = await app.call('GET', '/anthropic/v1/messages/batches', key());
    expect(listed.json.data[0].results_url).toBe(own.json.results_url);
    const ordinary = await app.call('GET', `/v1/messages/batches/${json.id}`);
    expect(ordinary.json.results_url).toBe(`/v1/messages/batches/${json.id}/results`);
    const results = await app.call('GET', own.json.results_url.slice(app.url.length), key());
    expect(JSON.parse(results.text).result.type).toBe('succeeded');
  });

  it('has errors in the format of messages on all its routes', async () => {
    const { json } = await app.call('GET', '/anthropic/v1/models/none', key());
    expect(json.error.type).toBe('not_found_error');
    expect((await app.call('GET', '/v1/models/none')).json.error.type).toBe('invalid_request_error');
  });
});

describe('withModel', () => {
  const edited = (text: string) => withModel(Buffer.from(text), 'a"b').toString();

  it('changes only the model', () => {
    expect(edited('{"n": 1.0000000000000001, "model" : "x" ,"model2":"x"}')).toBe(
      '{"n": 1.0000000000000001, "model" : "a\\"b" ,"model2":"x"}',
    );
    expect(edited('{"n": {"model": "x"}}')).toBe('{"model":"a\\"b","n": {"model": "x"}}');
    expect(edited('{ }')).toBe('{"model":"a\\"b" }');
  });

  it.each(['', '[]', 'null', '"model"', '{"n": [1}', '{"n', '{"model": "a\\"b", "n": 1}'])(
    'keeps %s',
    (text) => expect(edited(text)).toBe(text),
  );
});

describe('surfaces by configuration', () => {
  const config: SurfaceConfig = {
    console: false,
    surfaces: { openai: '/openai', anthropic: '/anthropic' },
    limits: {
      requestsPerBatch: 10_000,
      bytesPerBatch: 33_554_432,
      compatible: { requestsPerBatch: 50_000, bytesPerBatch: 209_715_200 },
      bodyBytesInFlight: 268_435_456,
    },
    batch: { endpoints: ['/v1/embeddings'], compatibleEndpoints: batchEndpoints, dates: 'iso' },
  };
  const pathsOf = (changes: Partial<SurfaceConfig>, path: string) =>
    createSurfaces({ ...config, ...changes }).flatMap(
      (surface) => surface.pathOf({ method: 'GET', path, access: 'key' }) ?? [],
    );

  it('can be moved and closed', () => {
    const path = '/v1/models';
    expect(pathsOf({}, path)).toEqual([path, '/openai/v1/models', '/openai/models', '/anthropic/v1/models']);
    expect(pathsOf({ surfaces: { openai: '/a/b', anthropic: null } }, path)).toEqual([
      path,
      '/a/b/v1/models',
      '/a/b/models',
    ]);
    expect(pathsOf({ surfaces: { openai: null, anthropic: null } }, path)).toEqual([path]);
  });

  it('hold inline requests of at most half of the memory for bodies, but as many as /v1', () => {
    const inlineBytes = (bodyBytesInFlight: number) =>
      createSurfaces({ ...config, limits: { ...config.limits, bodyBytesInFlight } }).map(
        ({ rules }) => rules.inlineBytes,
      );
    const [main, ...others] = inlineBytes(268_435_456);
    expect(main).toBe(33_554_432);
    expect(new Set(others)).toEqual(new Set([Math.floor((134_217_728 - 65_536) / 1.25)]));
    expect(inlineBytes(1_048_576)[1]).toBe(33_554_432);
    expect(inlineBytes(2 ** 31)[1]).toBe(209_715_200);
  });
});

function azureLinesOf(lines: string): string {
  return lines.replaceAll(endpoint, '/chat/completions');
}
