import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ChatMessage } from '../../src/wire/chat/chat.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import {
  completion,
  send,
  startFakeUpstream,
  streamed,
  frame,
  usageFrame,
} from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';

// An upstream that rejects tool-calling turns without their reasoning, like DeepSeek, in all formats.

let upstream: FakeUpstream;
let running: RunningApp;

const call = { id: 'c1', type: 'function', function: { name: 't', arguments: '{}' } };
const asking = { role: 'assistant', content: null, reasoning_content: 'look it up', tool_calls: [call] };
const told = { role: 'assistant', content: '10:30.', reasoning_content: 'tell it' };

beforeAll(async () => {
  upstream = await startFakeUpstream((reply, request) => {
    const { messages, stream } = JSON.parse(request.text) as { messages: ChatMessage[]; stream?: boolean };
    const lost = messages.some(
      ({ tool_calls: calls, reasoning_content: thoughts }) => calls?.length && !thoughts,
    );
    if (lost) return send(reply, 400, { error: { message: 'reasoning_content must be passed back' } });
    const isFirst = messages.at(-1)!.role === 'user' && messages.length === 1;
    const { role: _, ...message } = isFirst ? asking : told;
    const finish = isFirst ? 'tool_calls' : 'stop';
    if (!stream)
      return send(reply, 200, completion('', { choices: [{ index: 0, message, finish_reason: finish }] }));
    const delta = { ...message, ...(isFirst && { tool_calls: [{ index: 0, ...call }] }) };
    return streamed([frame(delta), frame({}, finish), usageFrame, 'data: [DONE]\n\n'])(reply, request);
  });
  const engine = { ...upstreamEngine(upstream.url), flavor: 'deepseek' as const, capabilities: {} };
  running = await startApp({ models: [testModel(engine)] });
});
afterAll(async () => {
  await running?.stop();
  await upstream?.close();
});

/** Conversation from the documentation of DeepSeek, at the second question of the user. */
const whole = [
  { role: 'user', content: 'time?' },
  asking,
  { role: 'tool', tool_call_id: 'c1', content: '10:30' },
  told,
  { role: 'user', content: 'and tomorrow?' },
];
const sent = () => (JSON.parse(upstream.received.at(-1)!.text) as { messages: object[] }).messages;

it('is passed back with messages', async () => {
  const ask = async (messages: object[]) => {
    const tools = [{ name: 't', input_schema: { type: 'object' } }];
    const json = { model: 'tiny', max_tokens: 900, tools, messages };
    return (await running.api.post<{ content: object[] }>('/v1/messages', json)).content;
  };
  const messages: object[] = [{ role: 'user', content: 'time?' }];
  messages.push({ role: 'assistant', content: await ask(messages) });
  messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: '10:30' }] });
  messages.push({ role: 'assistant', content: await ask(messages) });
  messages.push({ role: 'user', content: 'and tomorrow?' });
  await ask(messages);
  expect(sent()).toEqual(whole);
});

const tools = [{ type: 'function', name: 't', parameters: { type: 'object' } }];
const respond = (json: object) =>
  running.api.post<{ id: string; output: object[] }>('/v1/responses', { model: 'tiny', tools, ...json });
const result = { type: 'function_call_output', call_id: 'c1', output: '10:30' };

it('is passed back with responses that send the whole conversation', async () => {
  const input: object[] = [{ role: 'user', content: 'time?' }];
  input.push(...(await respond({ input, store: false })).output, result);
  input.push(...(await respond({ input, store: false })).output, { role: 'user', content: 'and tomorrow?' });
  await respond({ input, store: false });
  expect(sent()).toEqual(whole);
});

it('is passed back with responses that continue each other', async () => {
  const first = await respond({ input: 'time?' });
  const second = await respond({ input: [result], previous_response_id: first.id });
  await respond({ input: 'and tomorrow?', previous_response_id: second.id });
  expect(sent()).toEqual(whole);
});

it('is passed back with chat completions under either name', async () => {
  const messages = whole.map(({ reasoning_content: thoughts, ...message }: Record<string, unknown>) => ({
    ...message,
    ...(thoughts !== undefined && { reasoning: thoughts }),
  }));
  await running.api.post('/v1/chat/completions', { model: 'tiny', messages });
  expect(sent()).toEqual(whole);
});
