import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiError } from '../../../src/core/errors.ts';
import type { NativeEvent } from '../../../src/engines/engines.ts';
import type {
  CompletionChoice,
  CompletionPiece,
  CompletionsRequest,
} from '../../../src/wire/completions/completions.ts';
import { testEngine, user } from './engine-fixture.ts';

const { engine, ask: chat } = testEngine({ modelPath: 'models/offpeak-tiny.gguf', contextSize: 512 });
beforeAll(() => engine.start());
afterAll(() => engine.stop());

type Ask = Partial<CompletionsRequest> & Pick<CompletionsRequest, 'prompt'>;
const call = () => ({ signal: new AbortController().signal, priority: 'interactive' as const });
const body = (request: Ask) => ({ value: { model: 'm', temperature: 0, ...request }, text: '' });

async function ask(request: Ask): Promise<{ choices: CompletionChoice[]; usage: NativeEvent['usage'] }> {
  const { fields, usage } = await engine.native!.generate('completions', body(request), call());
  return { choices: fields['choices'] as CompletionChoice[], usage };
}

async function pieces(request: Ask): Promise<{ pieces: CompletionPiece[]; usage: NativeEvent['usage'] }> {
  const events: NativeEvent[] = [];
  for await (const list of engine.native!.stream('completions', body(request), call())) events.push(...list);
  const withFields = events.filter(({ fields }) => fields);
  return {
    pieces: withFields.flatMap(({ fields }) => fields!['choices'] as CompletionPiece[]),
    usage: events.at(-1)?.usage,
  };
}

const text = async (request: Ask) => (await ask(request)).choices[0]!.text;
const sum = (numbers: (number | null)[]) => numbers.reduce<number>((total, each) => total + (each ?? 0), 0);
const prompt = 'The sea is wide and';
/** Text of a message in the template. */
const turn = (said: string) => `<|im_start|>user\n${said}<|im_end|>\n<|im_start|>assistant\n`;

describe('raw prompts', () => {
  test('continue without a template, 16 tokens by default', async () => {
    const { choices, usage } = await ask({ prompt });
    expect(choices).toMatchObject([{ index: 0, logprobs: null, finish_reason: 'length' }]);
    expect(usage).toMatchObject({ completion_tokens: 16 });
    const asked = await chat({ messages: user(prompt), max_tokens: 16, temperature: 0 });
    expect(usage!.prompt_tokens).toBeLessThan(asked.usage.prompt_tokens);
  });

  test('as texts, token IDs, several at once and n of each: like single ones', async () => {
    const ids = (await ask({ prompt, echo: true, logprobs: 0, max_tokens: 0 })).choices[0]!.logprobs!;
    expect(ids.tokens.join('')).toBe(prompt);
    const alone = [await text({ prompt }), await text({ prompt: [5, 6, 7] })];
    const { choices } = await ask({ prompt: [prompt, 'Another'], n: 2 });
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(choices.slice(0, 2).map((choice) => choice.text)).toEqual([alone[0], alone[0]]);
    const many = await ask({ prompt: Array.from({ length: 9 }, () => [5, 6, 7]) });
    expect(many.choices.map((choice) => choice.text)).toEqual(Array.from({ length: 9 }, () => alone[1]));
    expect(many.usage!.prompt_tokens).toBe(27);
  });

  test('end at a stop string, with an echo of the prompt on request', async () => {
    const whole = await text({ prompt });
    const stop = whole.slice(3, 5);
    const { choices } = await ask({ prompt, stop, echo: true });
    expect(choices[0]).toMatchObject({
      text: prompt + whole.slice(0, whole.indexOf(stop)),
      finish_reason: 'stop',
      stop_reason: stop,
    });
  });

  test('a stream has the same text', async () => {
    const request: Ask = { prompt: [prompt, 'Another'], echo: true, logprobs: 2, max_tokens: 8 };
    const { choices, usage } = await ask(request);
    const streamed = await pieces(request);
    for (const { index, text: whole, logprobs, finish_reason } of choices) {
      const own = streamed.pieces.filter((piece) => piece.index === index);
      expect(own.map((piece) => piece.text).join('')).toBe(whole);
      expect(own.at(-1)!.finish_reason).toBe(finish_reason);
      const offsets = own.flatMap((piece) => piece.logprobs?.text_offset ?? []);
      expect(offsets).toEqual(logprobs!.text_offset);
      const told = own.flatMap((piece) => piece.logprobs?.token_logprobs ?? []);
      expect(told).toHaveLength(logprobs!.token_logprobs.length);
    }
    expect(streamed.usage).toMatchObject({ completion_tokens: usage!.completion_tokens });
  });

  test('best_of returns the most likely answers', async () => {
    const warm: Ask = { prompt, temperature: 1.5, seed: 3, max_tokens: 6, logprobs: 0 };
    const all = (await ask({ ...warm, n: 5 })).choices;
    const { choices, usage } = await ask({ ...warm, best_of: 5, n: 2 });
    const score = ({ logprobs }: CompletionChoice) =>
      sum(logprobs!.token_logprobs) / logprobs!.token_logprobs.length;
    const likeliest = all.toSorted((a, b) => score(b) - score(a)).slice(0, 2);
    expect(choices.map((choice) => choice.text)).toEqual(likeliest.map((choice) => choice.text));
    expect(choices.map(({ index }) => index)).toEqual([0, 1]);
    expect(usage!.completion_tokens).toBe(30);
  });
});

describe('log probabilities of a prompt', () => {
  test('are those of the model for each token', async () => {
    const said = turn('Extract name, age and city as JSON: Anna is 33 years old and lives in Rome.');
    const wrote = (await ask({ prompt: said, logprobs: 3, max_tokens: 20 })).choices[0]!;
    expect(wrote.text).toMatch(/^\{.*Anna/);
    const whole = `${said}${wrote.text}<|im_end|>`;
    const { choices, usage } = await ask({
      prompt: whole,
      echo: true,
      logprobs: 3,
      max_tokens: 0,
    });
    const { text: echoed, logprobs, finish_reason } = choices[0]!;
    expect([echoed, finish_reason]).toEqual([whole, 'length']);
    expect(usage).toMatchObject({ completion_tokens: 0, prompt_tokens: logprobs!.tokens.length });
    expect(logprobs!.token_logprobs[0]).toBeNull();
    expect(logprobs!.top_logprobs[0]).toBeNull();
    const at = logprobs!.tokens.length - wrote.logprobs!.tokens.length;
    expect(logprobs!.tokens.slice(at)).toEqual(wrote.logprobs!.tokens);
    for (const [index, logprob] of wrote.logprobs!.token_logprobs.entries()) {
      expect(logprobs!.token_logprobs[at + index]).toBeCloseTo(logprob!, 2);
      // Greedy text is the likeliest, to the digit, since clients compare the scores.
      const best = Math.max(...Object.values(logprobs!.top_logprobs[at + index]!));
      expect(best).toBe(logprobs!.token_logprobs[at + index]);
    }
    const offsets = logprobs!.tokens.map((_, index) => logprobs!.tokens.slice(0, index).join('').length);
    expect(logprobs!.text_offset).toEqual(offsets);
  });

  test('each continuation has the same score alone, beside others and after another', async () => {
    const score = (only: CompletionChoice) => sum(only.logprobs!.token_logprobs);
    const prompts = ['The sea is wide', 'The sea is green', 'A long way from the sea, which is wide'];
    const request = { echo: true, logprobs: 1, max_tokens: 1 };
    const together = (await ask({ ...request, prompt: prompts })).choices.map(score);
    for (const [index, each] of prompts.entries())
      expect(score((await ask({ ...request, prompt: each })).choices[0]!)).toBeCloseTo(together[index]!, 1);
  });

  test('a prompt is scored once for all of its answers, and is no output', async () => {
    const request = { prompt, echo: true, logprobs: 1, max_tokens: 2, n: 3, temperature: 1, seed: 1 };
    const { choices } = await ask(request);
    const length = choices[0]!.logprobs!.tokens.length - 2;
    const heads = choices.map(({ logprobs }) => logprobs!.token_logprobs.slice(0, length));
    expect(heads).toEqual([heads[0], heads[0], heads[0]]);
    let said = '';
    let told = '';
    for await (const events of engine.native!.stream('completions', body({ ...request, n: 1 }), call()))
      for (const event of events) {
        said += event.delta ?? '';
        told += ((event.fields?.['choices'] ?? []) as CompletionPiece[]).map((piece) => piece.text).join('');
      }
    expect(told).toBe(prompt + said);
  });

  test('an answer that ends immediately has the token that ended it', async () => {
    const said = turn('What is the capital of France?');
    const whole = said + (await text({ prompt: said, max_tokens: 100 }));
    const { choices, usage } = await ask({ prompt: whole, echo: true, logprobs: 1, max_tokens: 1 });
    expect(choices[0]!.finish_reason).toBe('stop');
    expect(choices[0]!.text).toBe(whole);
    expect(usage!.completion_tokens).toBe(0);
    expect(choices[0]!.logprobs!.tokens).toHaveLength(usage!.prompt_tokens + 1);
    expect(choices[0]!.logprobs!.text_offset.at(-1)).toBe(whole.length);
  });
});

test('unsupported fields are rejected with their names', async () => {
  const refusal = async (request: Ask) =>
    (await ask(request).then(
      () => new Error('The request was answered.'),
      (error: unknown) => error,
    )) as ApiError;
  expect(await refusal({ prompt, suffix: 'end' })).toMatchObject({
    code: 'validation_error',
    param: 'suffix',
  });
  expect(await refusal({ prompt: Array(400).fill(5), n: 128, echo: true, logprobs: 100 })).toMatchObject({
    code: 'validation_error',
    param: 'echo',
  });
  expect(await refusal({ prompt: [[1], [2, 999_999]] })).toMatchObject({ param: 'prompt[1][1]' });
  expect(await refusal({ prompt: 'word '.repeat(600) })).toMatchObject({
    code: 'context_length_exceeded',
    param: 'prompt',
  });
  expect(await refusal({ prompt: ['a', 'word '.repeat(9_000)] })).toMatchObject({
    code: 'context_length_exceeded',
    param: 'prompt[1]',
  });
});
