import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { send, startFakeUpstream, streamed } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';

// The example of docs/configuration.md, with an upstream that matches it.

let fake: FakeUpstream;
let running: RunningApp;

beforeAll(async () => {
  fake = await startFakeUpstream();
  const page = readFileSync('docs/configuration.md', 'utf8').split('### flavor\n')[1]!;
  const [, yaml] = /```yaml\n([^`]+)```/.exec(page)!;
  const { models } = loadConfig({
    env: { HOUSE_KEY: 'secret' },
    cwd: '/srv',
    exists: (path) => path === '/srv/offpeak.yaml',
    readFile: () => yaml!.replace('https://llm.example.com/api', fake.url.replace('/v1', '/api')),
  });
  running = await startApp({ models });
});
afterAll(async () => {
  await running.stop();
  await fake.close();
});

const ask = async (more: object) => {
  const body = { model: 'house', messages: [{ role: 'user', content: 'hi' }], ...more };
  const answer = await fetch(`${running.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${running.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return answer.text();
};
const meta = { tokens: { in: 40, out: 7 } };
const usage = { prompt_tokens: 40, completion_tokens: 7, total_tokens: 47 };

it('uses the configured path, key header and field names', async () => {
  const message = { role: 'assistant', content: 'Hi' };
  fake.answer = (reply) => send(reply, 200, { choices: [{ message, finish_reason: 'budget' }], meta });
  const text = await ask({ max_tokens: 9, max_completion_tokens: 5, top_a: 0.1, seed: 1 });
  expect(JSON.parse(text)).toMatchObject({ choices: [{ finish_reason: 'length' }], usage });
  const { path, headers, text: sent } = fake.received.at(-1)!;
  expect([path, headers['x-house-key'], headers.authorization]).toEqual([
    '/api/v2/house/generate',
    'Token secret',
    undefined,
  ]);
  expect(JSON.parse(sent)).toEqual({
    model: 'house',
    messages: [{ role: 'user', content: 'hi' }],
    max_length: 5,
    top_a: 0.1,
  });
});

it('sends the reasoning effort in the configured field', async () => {
  fake.answer = (reply) => send(reply, 200, { choices: [{ message: { role: 'assistant', content: 'Hi' } }] });
  for (const [effort, told] of Object.entries({ none: 'off', xhigh: 'max', low: 'low' })) {
    await ask({ reasoning_effort: effort });
    expect(JSON.parse(fake.received.at(-1)!.text)).toMatchObject({ reasoning_effort: told });
  }
});

it('streams and reads usage from a configured event', async () => {
  const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
  const piece = (content: string, finish: string | null) =>
    event({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] });
  fake.answer = streamed([piece('Hi', null), piece('.', 'done'), event({ meta }), 'data: [DONE]\n\n']);
  const text = await ask({ stream: true, stream_options: { include_usage: true }, max_tokens: 5 });
  expect(text).toContain('"finish_reason":"stop"');
  expect(text).toContain('"prompt_tokens":40,"completion_tokens":7');
  const sent = JSON.parse(fake.received.at(-1)!.text) as object;
  expect(sent).toMatchObject({ stream: true, max_length: 5 });
  expect(sent).not.toHaveProperty('stream_options');
});

it('recognizes a rejected key and hides it from clients', async () => {
  fake.answer = (reply) => send(reply, 400, { message: 'unknown key 123' });
  const { error } = JSON.parse(await ask({})) as { error: { code: string; message: string } };
  expect(error).toMatchObject({ code: 'upstream_error' });
  expect(error.message).not.toContain('unknown');
});
