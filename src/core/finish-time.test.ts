import { describe, expect, it } from 'vitest';
import { tokensAhead } from './finish-time.ts';
import type { BatchWork } from './work-left.ts';

const work = (orgId: string, tokens: number, due = 5): BatchWork => ({
  model: 'm',
  orgId,
  requests: 1,
  tokens,
  due,
  msLeft: 1_000,
});
const weights: Record<string, number> = { heavy: 3 };
const ahead = (open: BatchWork[], tokens = 100) =>
  tokensAhead(open, { orgId: 'a', weight: 1, due: 5, tokens }, (id) => weights[id] ?? 1);

describe('work before a new batch', () => {
  it('is zero on an idle server', () => expect(ahead([])).toBe(0));

  it('of its org is what is due before it', () => {
    expect(ahead([work('a', 30, 4), work('a', 20, 5), work('a', 7_000, 6)])).toBe(50);
  });

  it('of other orgs is their share by weight, or all that they have', () => {
    expect(ahead([work('b', 1_000)])).toBe(100);
    expect(ahead([work('b', 60), work('b', 20)])).toBe(80);
    expect(ahead([work('heavy', 1_000)])).toBe(300);
    expect(ahead([work('heavy', 1_000), work('b', 10)])).toBe(310);
  });

  it('of its org makes the other orgs get more before it is done', () => {
    expect(ahead([work('a', 50, 4), work('b', 1_000)])).toBe(50 + 150);
  });
});
