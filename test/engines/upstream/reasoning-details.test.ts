import { afterEach, expect, it } from 'vitest';
import type { Flavor } from '../../../src/core/flavor.ts';
import { parseChatRequest } from '../../../src/wire/chat/request/request.ts';
import { foldChunks } from '../../../src/wire/chat/stream/fold-chunks.ts';
import { complete, frame, startFakeUpstream, streamed, usageFrame } from '../../support/fake-upstream.ts';
import type { Responder } from '../../support/fake-upstream.ts';
import { ask, call, collect, engineAt } from './setup.ts';

// Reasoning in the format of OpenRouter.

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await (one.stop?.() ?? one.close?.());
});

async function upstream(flavor: Flavor, answer: Responder) {
  const fake = await startFakeUpstream(answer);
  const engine = engineAt(fake.url, { flavor });
  open.push(fake, engine);
  return { fake, engine };
}

const encrypted = {
  type: 'reasoning.encrypted',
  data: 'SIG',
  id: 'c1',
  format: 'google-gemini-v1',
  index: 0,
};
const calls = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }];
const done = 'data: [DONE]\n\n';

it('are passed to the client, whole and streamed', async () => {
  const message = { role: 'assistant', content: null, reasoning_details: [encrypted], tool_calls: calls };
  const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
  const { fake, engine } = await upstream('generic', complete('', { choices }));
  const [whole] = (await engine.generate(ask(), call())).choices;
  expect(whole!.message).toMatchObject({ reasoning_details: [encrypted], tool_calls: calls });
  expect(whole!.message).not.toHaveProperty('reasoning');
  const delta = { reasoning_details: [encrypted], tool_calls: [{ index: 0, ...calls[0] }] };
  fake.answer = streamed([frame(delta), frame({}, 'tool_calls'), usageFrame, done]);
  const [first] = await collect(engine.stream(ask(), call()));
  expect(first!.choices[0]!.delta).toMatchObject({ reasoning_details: [encrypted] });
  fake.answer = streamed([frame(delta), frame({}, 'tool_calls'), usageFrame, done]);
  const folded = await foldChunks(engine.stream(ask(), call()));
  expect(folded.choices[0]!.message).toMatchObject({ reasoning_details: [encrypted], tool_calls: calls });
});

it('become reasoning where a server sends nothing else, whole and streamed', async () => {
  const detail = (text: string) => ({ type: 'reasoning.text', id: 'r', index: 0, text });
  const message = { role: 'assistant', content: 'so', reasoning_details: [detail('why not')] };
  const { fake, engine } = await upstream(
    'generic',
    complete('', { choices: [{ index: 0, message, finish_reason: 'stop' }] }),
  );
  const [whole] = (await engine.generate(ask(), call())).choices;
  expect(whole!.message).toMatchObject({ reasoning: 'why not', reasoning_content: 'why not', content: 'so' });
  const frames = ['why ', 'not'].map((text) => frame({ reasoning_details: [detail(text)] }));
  fake.answer = streamed([...frames, frame({ content: 'so' }, 'stop'), usageFrame, done]);
  const folded = await foldChunks(engine.stream(ask(), call()));
  expect(folded.choices[0]!.message).toMatchObject({
    reasoning: 'why not',
    reasoning_details: [detail('why not')],
  });
});

it('appear once where a server also sends the text', async () => {
  const reasoning_details = [{ type: 'reasoning.text', text: 'why' }];
  const message = { role: 'assistant', content: 'so', reasoning: 'why', reasoning_details };
  const { engine } = await upstream(
    'generic',
    complete('', { choices: [{ index: 0, message, finish_reason: 'stop' }] }),
  );
  const [choice] = (await engine.generate(ask(), call())).choices;
  expect(choice!.message.reasoning).toBe('why');
});

it.each<[Flavor, boolean]>([
  ['openrouter', true],
  ['offpeak', true],
  ['generic', true],
  ['openai', false],
  ['vllm', false],
  ['mistral', false],
])('are sent back to %s: %s', async (flavor, isSent) => {
  const { fake, engine } = await upstream(
    flavor,
    streamed([frame({ content: 'a' }, 'stop'), usageFrame, done]),
  );
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: null, tool_calls: calls, reasoning_details: [{ ...encrypted, other: 1 }] },
    { role: 'tool', tool_call_id: 'c1', content: 'ok' },
  ];
  const { body } = parseChatRequest(JSON.stringify({ model: 'm', stream: true, messages }));
  await collect(engine.stream(body, call()));
  const sent = JSON.parse(fake.received[0]!.text) as { messages: { reasoning_details?: unknown }[] };
  expect(sent.messages[1]!.reasoning_details).toEqual(isSent ? [encrypted] : undefined);
});
