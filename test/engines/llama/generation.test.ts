import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TokenLogprob } from '../../../src/wire/chat/chat.ts';
import { testEngine, user } from './engine-fixture.ts';
import { randomModelFile } from './random-model.ts';

const model = randomModelFile({ contextLength: 1024 });
const { engine, ask, chunks, refusal } = testEngine({ modelPath: model.path });
beforeAll(() => engine.start());
afterAll(async () => {
  await engine.stop();
  model.remove();
});

const text = async (...args: Parameters<typeof ask>): Promise<string> =>
  (await ask(...args)).choices[0]!.message.content!;
const greedy = { messages: user('Tell me about the sea.'), temperature: 0, max_tokens: 48 };

test('the engine reports its capabilities', () => {
  expect(engine.capabilities).toEqual({
    serves: ['chat', 'embeddings'],
    contextLength: 1024,
    jsonSchema: 'exact',
    forcedTool: 'exact',
    inputs: [],
    prefixCache: 'slot',
    formats: { completions: 'native' },
  });
  expect(engine.slots).toBe(4);
});

describe('sampling', () => {
  test('greedy text is the same alone and in parallel', async () => {
    const alone = await text(greedy);
    const others = Array.from({ length: 7 }, (_, i) => text({ ...greedy, messages: user(`Other ${i}`) }));
    const [beside] = await Promise.all([text(greedy), ...others]);
    expect(beside).toBe(alone);
    expect(alone.length).toBeGreaterThan(20);
  });

  test('a seed repeats an answer, another seed does not', async () => {
    const warm = { ...greedy, temperature: 1, seed: 7 };
    const first = await text(warm);
    expect(await text(warm)).toBe(first);
    expect(await text({ ...warm, seed: 8 })).not.toBe(first);
    expect(await text({ ...warm, seed: -(2 ** 40) })).not.toBe(first);
  });

  test('n answers differ from each other and the usage counts them all', async () => {
    const { choices, usage } = await ask({
      ...greedy,
      temperature: 1,
      seed: 7,
      n: 3,
      logit_bias: eosNever(),
    });
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(new Set(choices.map(({ message }) => message.content)).size).toBe(3);
    expect(usage.completion_tokens).toBeGreaterThan(48);
  });

  test('logit_bias makes a token certain or impossible', async () => {
    expect(await text({ ...greedy, temperature: 1, logit_bias: { [byteToken('A')]: 100 } })).toBe(
      'A'.repeat(48),
    );
    const without = await text({ ...greedy, logit_bias: { [byteToken('A')]: 100, [byteToken('B')]: 99 } });
    const banned = { [byteToken('A')]: -100, [byteToken('B')]: 100 };
    expect(without).toBe('A'.repeat(48));
    expect(await text({ ...greedy, logit_bias: banned })).toBe('B'.repeat(48));
  });

  test('penalties suppress a frequent token', async () => {
    const favourite = { ...greedy, logit_bias: { [byteToken('A')]: 20 } };
    expect(await text(favourite)).toBe('A'.repeat(48));
    expect(await text({ ...favourite, frequency_penalty: 2 })).not.toBe('A'.repeat(48));
  });

  test('top_k 1 is greedy, whatever the temperature', async () => {
    expect(await text({ ...greedy, temperature: 2, seed: 3, top_k: 1 })).toBe(await text(greedy));
  });

  test.each([
    ['an unknown token', { logit_bias: { 99999: 1 } }, 'logit_bias.99999'],
    ['a token that ends answers', { logit_bias: { 2: -100 } }, 'logit_bias.2'],
  ])('%s is rejected', async (_, field, param) => {
    expect(await refusal({ ...greedy, ...field })).toMatchObject({
      code: 'validation_error',
      status: 422,
      param,
    });
  });
});

describe('stop strings', () => {
  test('cut the answer where they begin, across tokens', async () => {
    const whole = await text(greedy);
    const stop = whole.slice(11, 16);
    const { choices, usage } = await ask({ ...greedy, stop: ['never this', stop] });
    expect(choices[0]).toMatchObject({
      message: { content: whole.slice(0, whole.indexOf(stop)) },
      finish_reason: 'stop',
      stop_reason: stop,
    });
    expect(usage.completion_tokens).toBeLessThan(48);
  });

  test('that only seem to begin are delivered in the end', async () => {
    const whole = await text(greedy);
    expect(await text({ ...greedy, stop: `${whole.slice(11, 16)}but not this` })).toBe(whole);
    expect(await text({ ...greedy, stop: `${whole.at(-1)}more` })).toBe(whole);
  });

  test('are never streamed', async () => {
    const whole = await text(greedy);
    const stop = whole.slice(11, 16);
    const streamed = await chunks({ ...greedy, stop });
    const content = streamed.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    expect(content).toBe(whole.slice(0, whole.indexOf(stop)));
  });
});

describe('streams', () => {
  test('begin with the role, end with the finish reason, then the usage', async () => {
    const all = await chunks({ ...greedy, max_tokens: 5 });
    expect(all[0]!.choices[0]!.delta).toEqual({ role: 'assistant', content: '' });
    expect(all.at(-2)!.choices).toMatchObject([{ delta: {}, finish_reason: 'length' }]);
    expect(all.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 5 } });
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
  });

  test('never cut a character in two', async () => {
    const request = {
      ...greedy,
      temperature: 1,
      max_tokens: 120,
      response_format: { type: 'json_object' as const },
    };
    let wide = 0;
    for (let seed = 1; seed <= 8; seed++) {
      const pieces = (await chunks({ ...request, seed })).map(
        ({ choices }) => choices[0]?.delta.content ?? '',
      );
      for (const piece of pieces) {
        expect(piece.isWellFormed(), piece).toBe(true);
        expect(piece).not.toContain('\uFFFD');
        if (/[^\0-\u007f]/.test(piece)) wide++;
      }
      expect(JSON.parse(pieces.join(''))).toBeTypeOf('object');
    }
    expect(wide).toBeGreaterThan(0);
  });

  test('fail before their first chunk when the request is wrong', async () => {
    await expect(chunks({ ...greedy, logit_bias: { 99999: 1 } })).rejects.toMatchObject({
      code: 'validation_error',
    });
  });
});

describe('log probabilities', () => {
  test('come with every token, the most likely first', async () => {
    const { choices } = await ask({ ...greedy, max_tokens: 12, logprobs: true, top_logprobs: 4 });
    const { content } = choices[0]!.logprobs!;
    expect(content!.map(({ token }) => token).join('')).toBe(choices[0]!.message.content);
    for (const entry of content!) {
      expect(entry.top_logprobs).toHaveLength(4);
      expect(entry.top_logprobs[0]).toMatchObject({ token: entry.token, logprob: entry.logprob });
      const values = entry.top_logprobs.map(({ logprob }) => logprob);
      expect(values).toEqual(values.toSorted((a, b) => b - a));
      expect(values.reduce((sum, value) => sum + Math.exp(value), 0)).toBeLessThanOrEqual(1.0001);
    }
  });

  test('do not depend on the temperature', async () => {
    const first = async (temperature: number): Promise<TokenLogprob[]> => {
      const request = { ...greedy, temperature, max_tokens: 1, logprobs: true, top_logprobs: 5, seed: 2 };
      return (await ask(request)).choices[0]!.logprobs!.content!;
    };
    const [cold, hot] = [await first(0), await first(1.7)];
    for (const [i, { token, logprob }] of cold[0]!.top_logprobs.entries()) {
      expect(hot[0]!.top_logprobs[i]!.token).toBe(token);
      expect(hot[0]!.top_logprobs[i]!.logprob).toBeCloseTo(logprob, 3);
    }
  });

  test('are streamed with their text', async () => {
    const all = await chunks({ ...greedy, max_tokens: 6, logprobs: true });
    const tokens = all
      .flatMap(({ choices }) => choices[0]?.logprobs?.content ?? [])
      .map(({ token }) => token);
    expect(tokens.join('')).toBe(all.map(({ choices }) => choices[0]?.delta.content ?? '').join(''));
  });
});

describe('usage and context', () => {
  test('a repeated prompt is cached except for its last token', async () => {
    const request = { ...greedy, messages: user('A question asked for the first time.'), max_tokens: 2 };
    await ask(request);
    const { usage } = await ask(request);
    expect(usage.prompt_tokens_details.cached_tokens).toBe(usage.prompt_tokens - 1);
    expect(usage).toMatchObject({ completion_tokens: 2, total_tokens: usage.prompt_tokens + 2 });
  });

  test('answers are the same from the cache and without it', async () => {
    const shared = 'A long beginning that several questions share. '.repeat(6);
    const request = (end: string) => ({ ...greedy, messages: user(shared + end) });
    const fresh = await text(request('One?'));
    const { usage } = await ask(request('Two?'));
    expect(usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(shared.length - 100);
    expect(await text(request('One?'))).toBe(fresh);
  });

  test('the answer may fill the context and no more', async () => {
    const messages = user('x'.repeat(900));
    const whole = { ...greedy, messages, logit_bias: { [byteToken('A')]: 100 } };
    const { usage, choices } = await ask({ ...whole, max_tokens: 5000 });
    expect(usage.total_tokens).toBe(1024);
    expect(choices[0]!.finish_reason).toBe('length');
    expect((await ask({ ...whole, max_tokens: null })).usage.total_tokens).toBe(1024);
  });

  test('a prompt that fills it is rejected with both numbers', async () => {
    const messages = user('x'.repeat(1100));
    const promptTokens = await engine.countTokens({ model: 'random', messages });
    const error = await refusal({ messages });
    expect(error).toMatchObject({ code: 'context_length_exceeded', status: 400, param: 'messages' });
    expect(error.message).toContain(String(promptTokens));
    expect(error.message).toContain('1024');
  });

  test('control tokens in a message are plain text', async () => {
    const count = (content: string) => engine.countTokens({ model: 'random', messages: user(content) });
    const [empty, marked] = [await count(''), await count('<|im_end|>\n<|im_start|>system')];
    // `in` is the only token of several characters; control tokens in text are not parsed.
    expect(marked! - empty!).toBeGreaterThanOrEqual(27);
    expect(await count('\uFDD00\uFDD1')).toBe(empty! + 7);
  });

  test('other content is rejected with its place', async () => {
    const messages = [
      { role: 'user' as const, content: [{ type: 'text', text: 'a' }, { type: 'image_url' }] },
    ];
    expect(await refusal({ messages })).toMatchObject({ status: 422, param: 'messages[0].content[1].type' });
  });
});

/** Token of an ASCII character: four control tokens precede the bytes. */
function byteToken(character: string): number {
  return 4 + character.charCodeAt(0);
}

/** Makes ordinary letters so likely that no answer ends by itself. */
function eosNever(): Record<string, number> {
  return Object.fromEntries(Array.from('abcdefghij', (letter) => [byteToken(letter), 12]));
}
