import { describe, expect, it, vi } from 'vitest';
import type { CallTrace } from '../../../core/call-trace.ts';
import { estimateText } from '../../../wire/chat/request/estimate-prompt.ts';
import { checkedUsage, usageReader } from './usage.ts';

const estimatePrompt = () => 1_000;
const read = (usage: object, answered = 'an answer', repairs = new Set()) =>
  checkedUsage(usage, { estimatePrompt, estimateAnswer: () => estimateText(answered), repairs });

it('bills reasoning that only the total includes as output', () => {
  const details = { completion_tokens_details: { reasoning_tokens: 386 } };
  expect(read({ prompt_tokens: 12, completion_tokens: 1, total_tokens: 399, ...details })).toEqual({
    prompt_tokens: 12,
    completion_tokens: 387,
    total_tokens: 399,
    prompt_tokens_details: { cached_tokens: 0 },
    ...details,
  });
});

it.each([
  [{ prompt_tokens: 12, completion_tokens: 8, total_tokens: 13 }, 8],
  [{ prompt_tokens: 12, completion_tokens: 8, total_tokens: 20 }, 8],
  [{ prompt_tokens: 12, completion_tokens: 8, total_tokens: 'many' }, 8],
  [{ prompt_tokens: 12, completion_tokens: 8, total_tokens: 1e12 }, 8],
  [{ prompt_tokens: 12, completion_tokens: 8, total_tokens: -1 }, 8],
])('does not believe another total: %j', (usage, completion) => {
  expect(read(usage)).toMatchObject({ completion_tokens: completion, total_tokens: 12 + completion });
});

const figures = (usage: object) => {
  const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } = read(usage);
  const { cached_tokens } = prompt_tokens_details;
  return [prompt_tokens, cached_tokens, completion_tokens, completion_tokens_details?.reasoning_tokens];
};

describe('a usage with other names', () => {
  const chat = { prompt_tokens: 1_000, completion_tokens: 10 };
  const other = { input_tokens: 1_000, output_tokens: 10 };
  it.each<[string, object, (number | undefined)[]]>([
    ['of messages and responses', { ...other, total_tokens: 1_010 }, [1_000, 0, 10, undefined]],
    ['of Bedrock', { inputTokens: 1_000, outputTokens: 10 }, [1_000, 0, 10, undefined]],
    ['of older SDKs', { promptTokens: 1_000, completionTokens: 10 }, [1_000, 0, 10, undefined]],
    ['in strings', { prompt_tokens: '1000', completion_tokens: '10' }, [1_000, 0, 10, undefined]],
    ['in strings of messages', { input_tokens: '1000', output_tokens: '10' }, [1_000, 0, 10, undefined]],
    [
      'with zeros under the other names',
      { prompt_tokens: 0, completion_tokens: 0, ...other },
      [1_000, 0, 10, undefined],
    ],
    [
      'with the cache of messages beside it',
      { ...other, cache_read_input_tokens: 800, cache_creation_input_tokens: 50 },
      [1_850, 800, 10, undefined],
    ],
    [
      'with nothing but the cache of messages',
      { ...other, input_tokens: 0, cache_read_input_tokens: 800 },
      [800, 800, 10, undefined],
    ],
    [
      'with the cache of messages and no details',
      { ...other, input_tokens_details: { cached_tokens: 0 }, cache_read_input_tokens: 800 },
      [1_800, 800, 10, undefined],
    ],
    [
      'with the cache of messages in it',
      { ...chat, cache_read_input_tokens: 800, cache_creation_input_tokens: 50 },
      [1_000, 800, 10, undefined],
    ],
    [
      'with more in the cache than there is',
      { ...chat, cache_read_input_tokens: 5_000 },
      [1_000, 1_000, 10, undefined],
    ],
    [
      'with the cache of responses',
      { ...other, input_tokens_details: { cached_tokens: 800 } },
      [1_000, 800, 10, undefined],
    ],
    ['with the cache of DeepSeek', { ...chat, prompt_cache_hit_tokens: 800 }, [1_000, 800, 10, undefined]],
    ['with the cache of Kimi', { ...chat, cached_tokens: '800' }, [1_000, 800, 10, undefined]],
    [
      'with two figures of the cache',
      { ...chat, prompt_tokens_details: { cached_tokens: 4 }, prompt_cache_hit_tokens: 5 },
      [1_000, 4, 10, undefined],
    ],
    ['with a cache below nothing', { ...chat, cached_tokens: -5 }, [1_000, 0, 10, undefined]],
    [
      'with the thoughts of responses',
      { ...other, output_tokens_details: { reasoning_tokens: 6 } },
      [1_000, 0, 10, 6],
    ],
    [
      'with the thoughts of messages',
      { ...other, output_tokens_details: { thinking_tokens: 6 } },
      [1_000, 0, 10, 6],
    ],
    ['with the thoughts of SGLang', { ...chat, reasoning_tokens: '6' }, [1_000, 0, 10, 6]],
  ])('is read %s', (_, usage, expected) => {
    expect(figures(usage)).toEqual(expected);
  });

  it.each([
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1e18,
    1.5,
    '-1',
    '1e3',
    '1.5',
    '',
    ' ',
    'NaN',
    true,
    [1_000],
    {},
  ])('is estimated where a figure is %j', (figure) => {
    expect(figures({ input_tokens: figure, output_tokens: 10 })).toEqual([1_000, 0, 10, undefined]);
    expect(figures({ input_tokens: figure, cache_read_input_tokens: 800, output_tokens: 10 })).toEqual([
      1_000,
      800,
      10,
      undefined,
    ]);
    expect(figures({ input_tokens: 7, output_tokens: figure })).toEqual([7, 0, 3, undefined]);
  });

  const usage = { prompt_tokens: 5, completion_tokens: 2 };
  it.each<[string, object]>([
    ['beside the choices', { usage, choices: [{}] }],
    ['in a choice (Kimi)', { choices: [{ usage }] }],
    ['in a member of its own (Groq)', { x_groq: { usage }, choices: [] }],
  ])('is found %s', (_, answer) => {
    expect(usageReader(undefined)(answer as Record<string, unknown>)).toEqual(usage);
  });

  it('is recorded as reported', () => {
    const trace: CallTrace = {};
    const reading = { estimatePrompt, estimateAnswer: () => 1, repairs: new Set(), trace };
    checkedUsage(
      { input_tokens: '200', cache_read_input_tokens: 800, output_tokens: -3, total_tokens: 1e12 },
      reading,
    );
    expect(trace.reported).toEqual({
      inputTokens: 1_000,
      cachedTokens: 800,
      outputTokens: -3,
      totalTokens: 1e12,
    });
  });
});

it('estimates only missing figures', () => {
  const counted = vi.fn(estimatePrompt);
  const repairs = new Set();
  checkedUsage(
    { prompt_tokens: 12, completion_tokens: 3 },
    { estimatePrompt: counted, estimateAnswer: () => 1, repairs },
  );
  expect(repairs.size).toBe(0);
  read({ completion_tokens: 3 }, 'x', repairs);
  expect([...repairs]).toEqual(['usage estimated']);
  expect(counted).not.toHaveBeenCalled();
  expect(read({ completion_tokens: 3 })).toMatchObject({ prompt_tokens: 1_000, completion_tokens: 3 });
  expect(read({ prompt_tokens: 7 }, 'x'.repeat(40))).toMatchObject({
    prompt_tokens: 7,
    completion_tokens: 10,
  });
});

it.each([
  ['fills the context', 4_096, 4_096, 4_096, true],
  ['had whole messages left out', 900, 8_193, 4_096, true],
  ['is estimated as somewhat longer', 4_000, 8_192, 4_096, false],
  ['is longer than the context is said to be', 5_000, 9_000, 4_096, false],
  ['fits', 4_095, 4_000, 4_096, false],
  ['meets an unknown context', 4_096, 90_000, null, false],
])('a prompt that %s: %i tokens, %i estimated, of %j', (_, told, estimated, cutsAt, isRefused) => {
  const usage = { prompt_tokens: told, completion_tokens: 3 };
  const reading = () =>
    checkedUsage(usage, {
      estimatePrompt: () => estimated,
      estimateAnswer: () => 1,
      cutsAt,
      repairs: new Set(),
    });
  if (isRefused) expect(reading).toThrow(expect.objectContaining({ code: 'context_length_exceeded' }));
  else expect(reading().prompt_tokens).toBe(told);
});
