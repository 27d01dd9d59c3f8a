import { describe, expect, it } from 'vitest';
import { createBodyBudget } from './body-budget.ts';

describe('createBodyBudget', () => {
  const refused = expect.objectContaining({ code: 'server_overloaded', status: 503, retryAfter: 1 });

  it('lets one org hold half, and leaves room for the next', () => {
    const budget = createBodyBudget(1200);
    const first = budget.open('a');
    first.hold(600);
    expect(() => budget.open('a').hold(1)).toThrow(refused);
    const second = budget.open('b');
    second.hold(300);
    expect(() => budget.open('b').hold(1)).toThrow(refused);
    budget.open('c').hold(150);
  });

  it('takes again what was given back, once', () => {
    const budget = createBodyBudget(1000);
    for (let turn = 0; turn < 100; turn++) {
      const share = budget.open('a');
      share.hold(100);
      share.hold(500);
      expect(() => share.hold(501)).toThrow(refused);
      share.hold(20);
      share.release();
      share.release();
    }
    budget.open('a').hold(500);
  });

  it('lets a share grow no further than there is room, and keeps what it had', () => {
    const budget = createBodyBudget(100);
    const share = budget.open('a');
    share.hold(40);
    expect(() => share.hold(60)).toThrow(refused);
    budget.open('a').hold(10);
    expect(() => budget.open('a').hold(1)).toThrow(refused);
  });
});
