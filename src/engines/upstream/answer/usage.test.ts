import { expect, it, vi } from 'vitest';
import { estimateText } from '../../../wire/chat/request/estimate-prompt.ts';
import { checkedUsage } from './usage.ts';

const asked = () => 1_000;
const read = (usage: object, answered = 'an answer', repairs = new Set()) =>
  checkedUsage(usage, { asked, answered: () => estimateText(answered), repairs });

it('bills what was thought as output where it stands in the total alone', () => {
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

it('knows the tokens of a cache by any of their names', () => {
  const usage = { prompt_tokens: 12, completion_tokens: 8 };
  expect(read({ ...usage, cached_tokens: 5 }).prompt_tokens_details.cached_tokens).toBe(5);
  expect(read({ ...usage, prompt_cache_hit_tokens: 5 }).prompt_tokens_details.cached_tokens).toBe(5);
  const both = { prompt_tokens_details: { cached_tokens: 4 }, prompt_cache_hit_tokens: 5 };
  expect(read({ ...usage, ...both }).prompt_tokens_details.cached_tokens).toBe(4);
});

it('estimates only what is not told', () => {
  const counted = vi.fn(asked);
  const repairs = new Set();
  checkedUsage({ prompt_tokens: 12, completion_tokens: 3 }, { asked: counted, answered: () => 1, repairs });
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
    checkedUsage(usage, { asked: () => estimated, answered: () => 1, cutsAt, repairs: new Set() });
  if (isRefused) expect(reading).toThrow(expect.objectContaining({ code: 'context_length_exceeded' }));
  else expect(reading().prompt_tokens).toBe(told);
});
