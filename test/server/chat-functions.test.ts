import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from './support/start-server.ts';

// Requests with `functions`, the predecessor of tools, get answers in the same form.

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const weather = {
  name: 'weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const ask = (content: string, more: object = {}) => ({
  model: 'tiny',
  messages: [{ role: 'user', content }],
  functions: [weather],
  ...more,
});
const post = (json: unknown) => app.call('POST', '/v1/chat/completions', { json });
const called = { name: 'weather', arguments: '{"city":""}' };

describe('POST /v1/chat/completions with functions', () => {
  it('200: calls a forced function and returns the call in function_call', async () => {
    const { status, json } = await post(ask('hi', { function_call: { name: 'weather' } }));
    expect(status).toBe(200);
    expect(json.choices).toEqual([
      {
        index: 0,
        message: { role: 'assistant', content: null, refusal: null, function_call: called },
        logprobs: null,
        finish_reason: 'function_call',
      },
    ]);
  });

  it('200: keeps plain text', async () => {
    const { json } = await post(ask('hi'));
    expect(json.choices[0]).toMatchObject({ message: { content: 'Echo: hi' }, finish_reason: 'stop' });
  });

  it('200: streams the call in deltas', async () => {
    const { text } = await post(ask('hi', { stream: true, function_call: { name: 'weather' } }));
    const data = text.split('\n\n').filter((event) => event !== '');
    expect(data.pop()).toBe('data: [DONE]');
    const choices = data.map((event) => JSON.parse(event.slice(6)).choices[0]);
    const pieces = choices.flatMap(({ delta }) => delta.function_call ?? []);
    expect(pieces[0]).toMatchObject({ name: 'weather' });
    expect(pieces.map(({ arguments: piece }) => piece).join('')).toBe(called.arguments);
    expect(choices.at(-1).finish_reason).toBe('function_call');
    expect(text).not.toContain('tool_calls');
  });

  it('200: accepts the result of a call', async () => {
    const { status, json } = await post({
      ...ask('hi'),
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: null, function_call: called },
        { role: 'function', name: 'weather', content: 'rain' },
      ],
    });
    expect([status, json.choices[0].finish_reason]).toEqual([200, 'stop']);
  });

  it('422: reports an unsupported schema at its location if the function is forced', async () => {
    const functions = [
      { name: 'f', parameters: { type: 'object', properties: { a: { $ref: '#/nowhere' } } } },
    ];
    for (const stream of [false, true]) {
      const forced = { functions, function_call: { name: 'f' }, stream };
      const { status, json } = await post(ask('hi', forced));
      expect(status).toBe(422);
      expect(json.error.param).toMatch(/^functions\[0\]\.parameters/);
      expect(json.error.message).not.toContain('tools');
    }
  });
});

it('answers batch lines the same way', async () => {
  const line = (custom_id: string, body: object) => ({
    custom_id,
    method: 'POST',
    url: '/v1/chat/completions',
    body,
  });
  const create = (...requests: object[]) =>
    app.call('POST', '/v1/batches', {
      json: { endpoint: '/v1/chat/completions', completion_window: '24h', requests },
    });
  const good = line('called', ask('hi', { function_call: { name: 'weather' } }));
  const sloppy = { functions: [{ name: 'f', parameters: { $ref: '#/nowhere' } }] };
  const broken = line('refused', ask('x', { ...sloppy, function_call: { name: 'f' } }));
  const refused = await create(good, broken);
  expect(refused.status).toBe(422);
  expect(refused.json.error.param).toMatch(/^requests\[1\]\.body\.functions\[0\]\.parameters/);
  // An optional function has no guarantee.
  expect((await create(line('sloppy', ask('x', sloppy)))).status).toBe(201);
  const { json: batch } = await create(good);
  const read = (what: string) => app.call('GET', `/v1/batches/${batch.id}/${what}`);
  await expect
    .poll(async () => (await app.call('GET', `/v1/batches/${batch.id}`)).json.status)
    .toBe('completed');
  const output = JSON.parse((await read('output')).text);
  expect(output.response.body.choices[0]).toMatchObject({
    message: { function_call: called },
    finish_reason: 'function_call',
  });
});
