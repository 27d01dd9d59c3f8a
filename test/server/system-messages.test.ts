import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ChatMessage } from '../../src/wire/chat/chat.ts';
import { batchEndpoints } from '../../src/core/batch.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLine } from '../support/batch-lines.ts';
import { complete, frame, send, startFakeUpstream, streamed, usageFrame } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';

// An upstream whose template rejects system messages after the first message, in all formats.

let upstream: FakeUpstream;
let running: RunningApp;

beforeAll(async () => {
  upstream = await startFakeUpstream((reply, request) => {
    if (!request.path.endsWith('/chat/completions')) return send(reply, 404, {});
    const { messages, stream } = JSON.parse(request.text) as { messages: ChatMessage[]; stream?: boolean };
    if (messages.findLastIndex(({ role }) => role === 'system') > 0)
      return send(reply, 400, { message: 'System message must be at the beginning.' });
    const frames = [frame({ role: 'assistant', content: 'Fine.' }), frame({}, 'stop'), usageFrame];
    return stream
      ? streamed([...frames, 'data: [DONE]\n\n'])(reply, request)
      : complete('Fine.')(reply, request);
  });
  const engine = (slots: number) => ({
    ...upstreamEngine(upstream.url, slots),
    flavor: 'vllm' as const,
    capabilities: {},
  });
  const models = ['chat', 'messages', 'responses', 'batch'].map((id) => ({
    ...testModel(engine(id === 'batch' ? 1 : 4)),
    id,
    aliases: [],
  }));
  running = await startApp({ models, batch: { endpoints: batchEndpoints } });
});
afterAll(async () => {
  await running?.stop();
  await upstream?.close();
});

const asked = () => upstream.received.filter(({ path }) => path.endsWith('/chat/completions'));

const system = { role: 'system', content: 'main' };
const user = { role: 'user', content: 'hi' };
const late = { role: 'system', content: 'tools: a, b' };

it.each([
  ['/v1/chat/completions', { model: 'chat', messages: [system, user, late] }],
  ['/v1/messages', { model: 'messages', max_tokens: 9, system: 'main', messages: [user, late] }],
  [
    '/v1/responses',
    { model: 'responses', instructions: 'main', input: [user, { ...late, role: 'developer' }] },
  ],
])('%s is answered, also streamed, with one extra call for the first request', async (path, body) => {
  const before = asked().length;
  for (const stream of [false, true, false]) {
    const { status, text } = await running.api.send(path, { json: { ...body, stream } });
    expect(status, text).toBe(200);
    expect(text).toContain('Fine.');
  }
  const sent = asked()
    .slice(before)
    .map(({ text }) => JSON.parse(text) as object);
  expect(sent).toHaveLength(4);
  const moved = [system, { role: 'user', content: 'hi\n\ntools: a, b' }];
  expect(sent).toMatchObject([[system, user, late], moved, moved, moved].map((messages) => ({ messages })));
});

it('fails or retries no batch line', async () => {
  const before = asked().length;
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const requests = ids.map((id) =>
    chatLine(id, id, { model: 'batch', messages: [{ ...user, content: id }, late] }),
  );
  const { id } = await running.api.createBatch({ requests });
  expect(await running.api.finished(id)).toMatchObject({ request_counts: { completed: 6, failed: 0 } });
  const sent = asked()
    .slice(before)
    .map(({ text }) => (JSON.parse(text) as { messages: ChatMessage[] }).messages);
  const moved = sent.filter(({ length }) => length === 1).map(([message]) => message!.content);
  expect(new Set(moved)).toEqual(new Set(ids.map((each) => `${each}\n\ntools: a, b`)));
  expect(moved).toHaveLength(ids.length);
  expect(sent.length - moved.length).toBeLessThan(ids.length);
});
