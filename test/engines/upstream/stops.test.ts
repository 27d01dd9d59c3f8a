import { afterEach, expect, it } from 'vitest';
import type { UpstreamOptions } from '../../../src/engines/upstream/upstream-options.ts';
import type { CompletionsRequest } from '../../../src/wire/completions/completions.ts';
import { complete, frame, startFakeUpstream, streamed, usageFrame } from '../../support/fake-upstream.ts';
import type { Responder } from '../../support/fake-upstream.ts';
import { ask, call, collect, engineAt, json, textOf } from './setup.ts';

// Servers that end an answer at a stop sequence but leave it in the text.

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await (one.stop?.() ?? one.close?.());
});

async function upstream(answer: Responder, options: Partial<UpstreamOptions> = {}) {
  const fake = await startFakeUpstream(answer);
  const engine = engineAt(fake.url, options);
  open.push(fake, engine);
  return engine;
}

const stops = { stop: ['y', ' END'] };
const done = 'data: [DONE]\n\n';
const message = (given: object, finish_reason = 'stop') =>
  complete('', { choices: [{ index: 0, message: { role: 'assistant', ...given }, finish_reason }] });

it('cuts a whole answer, with its log probabilities', async () => {
  const tokens = ['co', 'c', 'y'].map((token) => ({ token, logprob: -1, bytes: null, top_logprobs: [] }));
  const choice = {
    index: 0,
    message: { role: 'assistant', content: 'cocy', reasoning: 'why' },
    logprobs: { content: tokens },
    finish_reason: 'stop',
  };
  const engine = await upstream(complete('', { choices: [choice] }));
  const [cut] = (await engine.generate(ask({ ...stops, logprobs: true }), call())).choices;
  expect(cut).toMatchObject({
    message: { content: 'coc', reasoning: 'why' },
    finish_reason: 'stop',
    stop_reason: 'y',
  });
  expect(cut!.logprobs!.content!.map(({ token }) => token)).toEqual(['co', 'c']);
});

it('cuts a streamed answer whose stop sequence arrives in pieces, and reports its usage', async () => {
  const pieces = ['The ', 'answer E', 'is 7', ' E', 'N', 'D', ' and more'];
  const frames = [frame({ role: 'assistant', content: '' }), ...pieces.map((content) => frame({ content }))];
  const engine = await upstream(streamed([...frames, frame({}, 'stop'), usageFrame, done]));
  const chunks = await collect(engine.stream(ask(stops), call()));
  expect(textOf(chunks)).toBe('The answer Eis 7');
  const ends = chunks.flatMap(({ choices }) => choices).filter(({ finish_reason: end }) => end !== null);
  expect(ends).toMatchObject([{ finish_reason: 'stop', stop_reason: ' END' }]);
  expect(chunks.at(-1)!.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 2 });
});

it('releases the end of a streamed answer that only looked like a stop sequence', async () => {
  const engine = await upstream(
    streamed([frame({ content: 'the E' }), frame({ content: ' EN' }, 'length'), usageFrame, done]),
  );
  const chunks = await collect(engine.stream(ask(stops), call()));
  expect(textOf(chunks)).toBe('the E EN');
});

it('cuts each of several streamed choices', async () => {
  const frames = ['a', 'b'].flatMap((content, index) => [
    frame({ content: `${content} E` }, null, index),
    frame({ content: index === 0 ? 'ND' : 'nd' }, 'stop', index),
  ]);
  const engine = await upstream(streamed([frames[0]!, frames[2]!, frames[1]!, frames[3]!, usageFrame, done]));
  const chunks = await collect(engine.stream(ask({ stop: ' END', n: 2 }), call()));
  const of = (at: number) => chunks.flatMap(({ choices }) => choices).filter(({ index }) => index === at);
  expect(
    [0, 1].map((at) =>
      of(at)
        .map(({ delta }) => delta.content ?? '')
        .join(''),
    ),
  ).toEqual(['a', 'b End']);
  expect(of(0).at(-1)).toMatchObject({ stop_reason: ' END' });
  expect(of(1).at(-1)).not.toHaveProperty('stop_reason');
});

it('does not cut reasoning and arguments of calls', async () => {
  const calls = [{ index: 0, id: 'a', function: { name: 'f', arguments: '{"y":" END"}' } }];
  const engine = await upstream(
    message({ content: 'may', reasoning: 'why', tool_calls: calls }, 'tool_calls'),
  );
  const [whole] = (await engine.generate(ask(stops), call())).choices;
  expect(whole).toMatchObject({
    message: { content: 'ma', reasoning: 'why', tool_calls: [{ function: { arguments: '{"y":" END"}' } }] },
    finish_reason: 'tool_calls',
  });
  const frames = [frame({ reasoning: 'why' }), frame({ tool_calls: calls }), frame({}, 'tool_calls')];
  const other = await upstream(streamed([...frames, usageFrame, done]));
  const deltas = (await collect(other.stream(ask(stops), call()))).flatMap(({ choices }) => choices);
  expect(deltas.map(({ delta }) => delta.reasoning ?? '').join('')).toBe('why');
  expect(deltas.flatMap(({ delta }) => delta.tool_calls ?? [])).toMatchObject([
    { function: { arguments: '{"y":" END"}' } },
  ]);
});

it('cuts an answer that is collected from a stream', async () => {
  const engine = await upstream(
    streamed([frame({ content: 'coc' }), frame({ content: 'y' }, 'stop'), usageFrame, done]),
    { flavor: 'openrouter' },
  );
  const [choice] = (await engine.generate(ask(stops), call())).choices;
  expect(choice).toMatchObject({ message: { content: 'coc' }, stop_reason: 'y' });
});

it('keeps stop sequences that the request includes', async () => {
  const engine = await upstream(message({ content: 'cocy' }), {
    passThrough: ['include_stop_str_in_output'],
  });
  const [choice] = (await engine.generate(ask({ ...stops, include_stop_str_in_output: true }), call()))
    .choices;
  expect(choice!.message.content).toBe('cocy');
});

const completions = (more: object) =>
  json<CompletionsRequest>({ model: 'public', prompt: 'say y', ...stops, ...more });

it('cuts completions with their log probabilities, after the prompt', async () => {
  const logprobs = {
    tokens: ['co', 'c', 'y'],
    token_logprobs: [-1, -2, -3],
    top_logprobs: [null, null, null],
    text_offset: [0, 2, 3],
  };
  const choices = [{ index: 0, text: 'cocy', logprobs, finish_reason: 'stop' }];
  const engine = await upstream(complete('', { choices }));
  const { fields } = await engine.native!.generate(
    'completions',
    completions({ logprobs: 0, echo: false }),
    call(),
  );
  expect(fields).toMatchObject({
    choices: [{ text: 'coc', logprobs: { tokens: ['co', 'c'], text_offset: [0, 2] }, stop_reason: 'y' }],
  });
  const echoed = await engine.native!.generate('completions', completions({ echo: true }), call());
  expect(echoed.fields).toMatchObject({ choices: [{ text: 'say ycoc' }] });
});

it('cuts streamed completions', async () => {
  const chunk = (text: string, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, text, finish_reason }] })}\n\n`;
  const engine = await upstream(
    streamed([chunk('co E'), chunk('ND'), chunk('x', 'length'), usageFrame, done]),
  );
  const pieces: { text: string; stop_reason?: string }[] = [];
  for await (const events of engine.native!.stream('completions', completions({ stream: true }), call()))
    for (const { fields } of events) pieces.push(...((fields?.['choices'] ?? []) as typeof pieces));
  expect(pieces.map(({ text }) => text).join('')).toBe('co');
  expect(pieces.at(-1)).toMatchObject({ finish_reason: 'stop', stop_reason: ' END' });
});
