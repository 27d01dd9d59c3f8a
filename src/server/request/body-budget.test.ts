import { describe, expect, it } from 'vitest';
import { createBodyBudget } from './body-budget.ts';

describe('createBodyBudget', () => {
  const refused = expect.objectContaining({ code: 'server_overloaded', status: 503, retryAfter: 1 });

  it('lets one org hold half, and leaves room for the next', () => {
    const budget = createBodyBudget(1200);
    const first = budget.open('a');
    first.reserve(600);
    expect(() => budget.open('a').reserve(1)).toThrow(refused);
    const second = budget.open('b');
    second.reserve(300);
    expect(() => budget.open('b').reserve(1)).toThrow(refused);
    budget.open('c').reserve(150);
  });

  it('takes again what was given back, once', () => {
    const budget = createBodyBudget(1000);
    for (let turn = 0; turn < 100; turn++) {
      const share = budget.open('a');
      share.reserve(100);
      share.reserve(500);
      expect(() => share.reserve(501)).toThrow(refused);
      share.reserve(20);
      share.release();
      share.release();
    }
    budget.open('a').reserve(500);
  });

  it('lets a share grow no further than there is room, and keeps what it had', () => {
    const budget = createBodyBudget(100);
    const share = budget.open('a');
    share.reserve(40);
    expect(() => share.reserve(60)).toThrow(refused);
    budget.open('a').reserve(10);
    expect(() => budget.open('a').reserve(1)).toThrow(refused);
  });
});
