import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../src/wire/chat/chat.ts';
import { type RunningServer, startServer, testModels } from './support/start-server.ts';

// Images and files reach models that accept them; for others they are rejected at their location, in every format.

const png = 'data:image/png;base64,iVBORw0KGgo=';
const pdf = 'data:application/pdf;base64,JVBERi0=';
const text = 'What is it?';

let blind: RunningServer;
let seeing: RunningServer;
beforeAll(async () => {
  blind = await startServer({
    engine: (scripted) => ({ ...scripted, capabilities: { ...scripted.capabilities, inputs: [] } }),
  });
  seeing = await startServer();
});
afterAll(async () => {
  await blind.stop();
  await seeing.stop();
});

const chat = (...parts: object[]) => ({
  model: 'tiny',
  messages: [{ role: 'user', content: [{ type: 'text', text }, ...parts] }],
});
const response = (...parts: object[]) => ({
  model: 'tiny',
  input: [{ role: 'user', content: [{ type: 'input_text', text }, ...parts] }],
});
const message = (...blocks: object[]) => ({
  model: 'tiny',
  max_tokens: 9,
  messages: [{ role: 'user', content: [{ type: 'text', text }, ...blocks] }],
});
const image = { type: 'image_url', image_url: { url: png } };
const base64 = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };

const cases: [string, string, object, string][] = [
  ['an image', '/v1/chat/completions', chat(image), 'messages[0].content[1]'],
  [
    'a file',
    '/v1/chat/completions',
    chat({ type: 'file', file: { file_data: pdf } }),
    'messages[0].content[1]',
  ],
  [
    'audio',
    '/v1/chat/completions',
    chat({ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }),
    'messages[0].content[1]',
  ],
  ['an image', '/v1/responses', response({ type: 'input_image', image_url: png }), 'input[0].content[1]'],
  ['a file', '/v1/responses', response({ type: 'input_file', file_data: pdf }), 'input[0].content[1]'],
  ['an image', '/v1/messages', message({ type: 'image', source: base64 }), 'messages[0].content[1]'],
  [
    'an image',
    '/v1/messages',
    message({ type: 'image', source: { type: 'url', url: png } }),
    'messages[0].content[1]',
  ],
];

describe.each(cases)('%s on %s', (_, path, body, param) => {
  it('422: for a text-only model, plain and streamed', async () => {
    for (const stream of [false, true]) {
      const { status, json } = await blind.call('POST', path, { json: { ...body, stream } });
      expect(status).toBe(422);
      expect(json.error.message).toMatch(/^.+: this model takes no (images|audio|files)$/);
      expect(json.error.param).toBe(param);
    }
  });

  it('200: for a model that accepts it', async () => {
    expect((await seeing.call('POST', path, { json: body })).status).toBe(200);
  });
});

describe('an image at a URL', () => {
  const url = 'https://example.com/a.png';
  const result = {
    type: 'tool_result',
    tool_use_id: 't',
    content: [{ type: 'image', source: { type: 'url', url } }],
  };
  const shown = {
    ...message(),
    messages: [
      { role: 'user', content: text },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
      { role: 'user', content: [result] },
    ],
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
  };
  const formats: [string, object, string][] = [
    ['/v1/chat/completions', chat({ type: 'image_url', image_url: { url } }), 'messages[0].content[1]'],
    ['/v1/responses', response({ type: 'input_image', image_url: url }), 'input[0].content[1]'],
    ['/v1/messages', message({ type: 'image', source: { type: 'url', url } }), 'messages[0].content[1]'],
    ['/v1/messages', shown, 'messages[2].content[0].content[0]'],
  ];
  const open = (body: object) => ({ ...body, model: 'fetching' });

  let asked: ChatRequest[] = [];
  let app: RunningServer;
  beforeAll(async () => {
    app = await startServer({
      models: [...testModels, { ...testModels[1]!, id: 'fetching', imageUrls: true }],
      engine: (scripted) => ({
        ...scripted,
        generate(request, how) {
          asked.push(request.value);
          return scripted.generate(request, how);
        },
      }),
    });
  });
  beforeEach(() => void (asked = []));
  afterAll(() => app.stop());

  it.each(formats)(
    'is rejected on %s with the name of the setting that allows it',
    async (path, body, param) => {
      for (const stream of [false, true]) {
        const { status, json } = await app.call('POST', path, { json: { ...body, stream } });
        expect(status).toBe(422);
        expect([json.error.param, json.error.message]).toEqual([
          param,
          expect.stringContaining('image_urls: true'),
        ]);
      }
      expect(asked).toEqual([]);
    },
  );

  it.each(formats)('is passed on unchanged on %s to a model with that setting', async (path, body) => {
    expect((await app.call('POST', path, { json: open(body) })).status).toBe(200);
    const parts = asked[0]!.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    expect(parts).toContainEqual({ type: 'image_url', image_url: { url } });
  });

  it.each([
    ['/v1/chat/completions/input_tokens', formats[0]![1]],
    ['/v1/responses/input_tokens', formats[1]![1]],
    ['/v1/messages/count_tokens', formats[2]![1]],
  ])('is counted on %s only for such a model', async (path, body) => {
    expect((await app.call('POST', path, { json: body })).status).toBe(422);
    expect((await app.call('POST', path, { json: open(body) })).status).toBe(200);
  });

  it.each(formats)(
    'is rejected in a line for %s before the batch starts, unless the model has the setting',
    async (endpoint, body, param) => {
      const make = (model: object) => {
        const requests = [{ custom_id: 'a', method: 'POST', url: endpoint, body: model }];
        return app.call('POST', '/v1/batches', { json: { endpoint, completion_window: '24h', requests } });
      };
      const { status, json } = await make(body);
      expect([status, json.error?.details?.errors[0]]).toMatchObject([
        422,
        {
          param: `requests[0].body.${param}`,
          message: expect.stringContaining('image_urls: true') as string,
        },
      ]);
      expect((await make(open(body))).status).toBe(201);
    },
  );
});

it('an image in a batch line fails only that line', async () => {
  const line = (custom_id: string, body: object) => ({
    custom_id,
    method: 'POST',
    url: '/v1/chat/completions',
    body,
  });
  const requests = [line('seen', chat(image)), line('read', chat())];
  const create = { endpoint: '/v1/chat/completions', completion_window: '24h', requests };
  const { json: batch } = await blind.call('POST', '/v1/batches', { json: create });
  await expect
    .poll(async () => (await blind.call('GET', `/v1/batches/${batch.id}`)).json.request_counts)
    .toEqual({ total: 2, completed: 1, failed: 1 });
  const errors = await blind.call('GET', `/v1/batches/${batch.id}/errors`);
  expect(JSON.parse(errors.text)).toMatchObject({
    custom_id: 'seen',
    error: { code: 'validation_error', param: 'messages[0].content[1]', retryable: false },
  });
});
