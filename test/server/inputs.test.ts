import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Running, startServer } from './support/start-server.ts';

// Images and files go to models that take them; for all others they are refused at their place, in every format.

const png = 'data:image/png;base64,iVBORw0KGgo=';
const pdf = 'data:application/pdf;base64,JVBERi0=';
const text = 'What is it?';

let blind: Running;
let seeing: Running;
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
  it('422: for a model that takes text alone, plain and streamed', async () => {
    for (const stream of [false, true]) {
      const { status, json } = await blind.call('POST', path, { json: { ...body, stream } });
      expect(status).toBe(422);
      expect(json.error.message).toMatch(/^.+: this model takes no (images|audio|files)$/);
      expect(json.error.param).toBe(param);
    }
  });

  it('200: for one that takes it', async () => {
    expect((await seeing.call('POST', path, { json: body })).status).toBe(200);
  });
});

it('422: never at an address, whatever the model takes', async () => {
  const url = 'https://example.com/a.png';
  const asked: [string, object][] = [
    ['/v1/chat/completions', chat({ type: 'image_url', image_url: { url } })],
    ['/v1/responses', response({ type: 'input_image', image_url: url })],
    ['/v1/messages', message({ type: 'image', source: { type: 'url', url } })],
  ];
  for (const [path, body] of asked) {
    const { status, json } = await seeing.call('POST', path, { json: body });
    expect([status, json.error.message], path).toEqual([422, expect.stringContaining('never fetched')]);
  }
});

it('a line of a batch with an image fails by itself', async () => {
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
