import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Embeddings, EmbeddingsRequest } from '../../../src/wire/embeddings/embeddings.ts';
import { testEngine, user } from './engine-fixture.ts';
import { randomModelFile } from './random-model.ts';

const model = randomModelFile({ seed: 5, contextLength: 2048 });
const { engine, ask, chunks } = testEngine({ modelPath: model.path, sequences: 2 });
beforeAll(() => engine.start());
afterAll(async () => {
  await engine.stop();
  model.remove();
});

/** An answer of exactly `tokens` tokens: the letter A repeated. */
const fixedLength = (max_tokens: number) => ({ max_tokens, logit_bias: { 69: 100 } });

describe('the queue', () => {
  test('serves more requests than it has slots', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => ask({ messages: user(`Question ${i}`), ...fixedLength(8) })),
    );
    expect(answers.map(({ usage }) => usage.completion_tokens)).toEqual(Array<number>(20).fill(8));
  });

  test('lets interactive requests pass batch requests', async () => {
    const finished: string[] = [];
    const run = async (name: string, priority: 'interactive' | 'batch'): Promise<void> => {
      await ask({ messages: user(name), ...fixedLength(60) }, { priority });
      finished.push(name);
    };
    const batch = Array.from({ length: 16 }, (_, i) => run(`batch ${i}`, 'batch'));
    await Promise.all([...batch, run('chat', 'interactive')]);
    // Two requests in the slots and those already queued go first.
    expect(finished.indexOf('chat')).toBeLessThan(9);
  });
});

describe('prefixes', () => {
  test('two conversations with long prefixes keep their slots', async () => {
    const beginnings = ['The first document. ', 'Another text. '].map((text) => text.repeat(30));
    const question = (lane: number, i: number) => ({
      messages: user(`${beginnings[lane]}Question ${i}?`),
      ...fixedLength(2),
    });
    await Promise.all([0, 1].map((lane) => ask(question(lane, 0), { prefix: `lane ${lane}` })));
    for (let i = 1; i <= 4; i++) {
      const usages = await Promise.all(
        [0, 1].map((lane) => ask(question(lane, i), { prefix: `lane ${lane}` })),
      );
      for (const [lane, { usage }] of usages.entries()) {
        expect(usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(beginnings[lane]!.length - 50);
      }
    }
  });
});

describe('abort', () => {
  const endless = fixedLength(1900);

  test('a request in flight rejects at once with the reason, and frees its slot', async () => {
    const controller = new AbortController();
    const reason = new Error('gone');
    const stream = engine.stream(
      { value: { model: 'random', messages: user('Go on'), ...endless }, text: '' },
      { signal: controller.signal, priority: 'interactive' },
    );
    const read = async (): Promise<void> => {
      let count = 0;
      for await (const _ of stream) if (++count === 5) controller.abort(reason);
    };
    await expect(read()).rejects.toBe(reason);
    const answers = await Promise.all(
      [1, 2, 3].map((i) => ask({ messages: user(`${i}`), ...fixedLength(4) })),
    );
    expect(answers).toHaveLength(3);
  });

  test('a waiting request leaves the queue', async () => {
    const controller = new AbortController();
    const busy = Array.from({ length: 8 }, (_, i) => ask({ messages: user(`${i}`), ...fixedLength(50) }));
    const waiting = ask('Later', { signal: controller.signal });
    controller.abort(new Error('changed my mind'));
    await expect(waiting).rejects.toThrow('changed my mind');
    expect(await Promise.all(busy)).toHaveLength(8);
  });

  test('a request with an aborted signal is not queued', async () => {
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(ask('Hello', { signal })).rejects.toThrow('too late');
    await expect(chunks('Hello', { signal })).rejects.toThrow('too late');
  });

  test('an abandoned stream stops generating', async () => {
    const request = { value: { model: 'random', messages: user('Go on'), ...endless }, text: '' };
    const call = { signal: new AbortController().signal, priority: 'interactive' as const };
    // More abandoned streams than slots: if they went on, the last request would wait for 11,000 tokens.
    for (let i = 0; i < 6; i++) {
      for await (const [chunk] of engine.stream(request, call)) if (chunk?.choices[0]?.delta.content) break;
    }
    const { usage } = await ask({ messages: user('And now?'), ...fixedLength(3) });
    expect(usage.completion_tokens).toBe(3);
  });
});

describe('embeddings', () => {
  const embed = (
    request: Partial<EmbeddingsRequest> & Pick<EmbeddingsRequest, 'input'>,
  ): Promise<Embeddings> =>
    engine.direct(
      'embeddings',
      { value: { model: 'random', ...request }, text: '' },
      { signal: new AbortController().signal, priority: 'interactive' },
    );

  test('are vectors of length 1, one per input, in order', async () => {
    const { vectors, promptTokens } = await embed({ input: ['one', 'two', 'one'] });
    // `one` is two tokens, `two` three.
    expect(promptTokens).toBe(7);
    expect(await engine.countTokens({ model: 'random', input: ['one', 'two', 'one'] })).toBe(7);
    expect(vectors.map((vector) => vector.length)).toEqual([64, 64, 64]);
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    expect(vectors[2]).toEqual(vectors[0]);
    expect(vectors[1]).not.toEqual(vectors[0]);
  });

  test('of tokens equal those of their text', async () => {
    const bytes = (text: string): number[] => Array.from(text, (letter) => 4 + letter.charCodeAt(0));
    const [text, tokens, several] = [
      await embed({ input: 'xyz' }),
      await embed({ input: bytes('xyz') }),
      await embed({ input: [bytes('xyz'), bytes('a')] }),
    ];
    expect(tokens).toEqual(text);
    expect(several.vectors[0]).toEqual(text.vectors[0]);
    expect(several.promptTokens).toBe(4);
  });

  test('a long text is embedded completely', async () => {
    const long = 'x'.repeat(1500);
    const [a, b] = [await embed({ input: `a${long}` }), await embed({ input: `b${long}` })];
    expect(a.promptTokens).toBe(1501);
    expect(a.vectors[0]).not.toEqual(b.vectors[0]);
  });

  test.each([
    ['too long a text', { input: ['short', 'x'.repeat(2048)] }, 'context_length_exceeded', 'input[1]'],
    ['an empty text', { input: [''] }, 'validation_error', 'input[0]'],
    ['an unknown token', { input: [1, 2, 99_999] }, 'validation_error', 'input[2]'],
    ['other dimensions', { input: 'a', dimensions: 32 }, 'validation_error', 'dimensions'],
  ])('%s is rejected', async (_, request, code, param) => {
    await expect(embed(request)).rejects.toMatchObject({ code, param });
  });
});
