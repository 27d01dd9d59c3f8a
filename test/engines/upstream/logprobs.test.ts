import { afterEach, describe, expect, it } from 'vitest';
import { permanent } from '../../../src/core/errors.ts';
import type { UpstreamOptions } from '../../../src/engines/upstream/upstream-options.ts';
import { complete, frame, startFakeUpstream, streamed, usageFrame } from '../../support/fake-upstream.ts';
import type { Responder } from '../../support/fake-upstream.ts';
import { ask, call, collect, engineAt, json, textOf } from './setup.ts';

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

const done = 'data: [DONE]\n\n';
const scored = ask({ logprobs: true });
const token = { token: 'a', logprob: -1, bytes: null, top_logprobs: [] };
const ignored = {
  code: 'invalid_upstream_response',
  param: 'logprobs',
  blame: permanent,
  shouldRetry: false,
};
const whole = (message: object, logprobs: unknown, finish_reason = 'stop') =>
  complete('', {
    choices: [{ index: 0, message: { role: 'assistant', ...message }, logprobs, finish_reason }],
  });

describe('an answer without the requested log probabilities', () => {
  it.each<[string, unknown]>([
    ['none', undefined],
    ['null', null],
    ['an empty list', { content: [] }],
    ['an invalid token', { content: [{ token: 'a' }] }],
  ])('is rejected permanently: %s', async (_, logprobs) => {
    const engine = await upstream(whole({ content: 'a' }, logprobs));
    await expect(engine.generate(scored, call())).rejects.toMatchObject(ignored);
    expect((await engine.generate(ask(), call())).choices[0]!.message.content).toBe('a');
    expect(
      (await engine.generate(ask({ logprobs: false }), call())).choices[0]!.logprobs?.content ?? [],
    ).toEqual([]);
  });

  it('is rejected at the end of a stream', async () => {
    const frames = [frame({ content: 'a' }), frame({ content: 'b' }, 'stop'), usageFrame, done];
    const engine = await upstream(streamed(frames));
    await expect(collect(engine.stream(scored, call()))).rejects.toMatchObject(ignored);
  });

  it('is accepted without text', async () => {
    const calls = [{ id: 'a', function: { name: 'f', arguments: '{}' } }];
    for (const answer of [
      whole({ content: null, tool_calls: calls }, null, 'tool_calls'),
      whole({ content: '', reasoning: 'hm' }, null, 'length'),
      whole({ content: 'no' }, null, 'content_filter'),
    ]) {
      const engine = await upstream(answer);
      await expect(engine.generate(scored, call())).resolves.toBeDefined();
    }
  });

  it('is accepted from servers that are not sent the field', async () => {
    const answer = streamed([frame({ content: 'a' }, 'stop'), usageFrame, done]);
    const mistral = await upstream(answer, { flavor: 'mistral' });
    expect(textOf(await collect(mistral.stream(scored, call())))).toBe('a');
    const anthropic = await upstream(complete('a'), { flavor: 'anthropic' });
    expect((await anthropic.generate(scored, call())).choices[0]!.message.content).toBe('a');
  });
});

it('is accepted if only some pieces of a stream have log probabilities', async () => {
  const piece = (content: string, logprobs: unknown, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, logprobs, finish_reason }] })}\n\n`;
  const engine = await upstream(
    streamed([piece('a', { content: [token] }), piece('b', null, 'stop'), usageFrame, done]),
  );
  expect(textOf(await collect(engine.stream(scored, call())))).toBe('ab');
});

describe('a completion without the requested log probabilities', () => {
  const request = (more: object = {}) => json({ model: 'public', prompt: 'x', ...more });

  it('is rejected, also where no alternatives were requested', async () => {
    const engine = await upstream(
      complete('', { choices: [{ index: 0, text: 'a', finish_reason: 'stop' }] }),
    );
    for (const logprobs of [0, 3])
      await expect(
        engine.native!.generate('completions', request({ logprobs }), call()),
      ).rejects.toMatchObject(ignored);
    const { fields } = await engine.native!.generate('completions', request(), call());
    expect(fields).toMatchObject({ choices: [{ text: 'a', logprobs: null }] });
  });

  it('is rejected at the end of a stream', async () => {
    const chunk = (text: string, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, text, finish_reason }] })}\n\n`;
    const engine = await upstream(streamed([chunk('a'), chunk('', 'stop'), usageFrame, done]));
    const reading = (async () => {
      for await (const _ of engine.native!.stream('completions', request({ logprobs: 0 }), call()));
    })();
    await expect(reading).rejects.toMatchObject(ignored);
  });
});
