import { describe, expect, it } from 'vitest';
import { passing, unclear } from '../../core/errors.ts';
import { afterFailure, afterRefusal, isSpent, noAttempts } from './attempts.ts';

describe('the attempts of a line', () => {
  it('are spent after three failures of its own', () => {
    let line = noAttempts;
    for (const spent of [false, false, true]) {
      line = afterFailure(line, passing, 0, 0);
      expect(isSpent(line)).toBe(spent);
    }
    expect(line.made).toBe(3);
  });

  it('are not spent by an outage, however long', () => {
    let line = noAttempts;
    for (let i = 0; i < 100; i++) line = afterFailure(line, unclear, i, -1);
    expect([isSpent(line), line.made]).toEqual([false, 100]);
  });

  it('are spent where others were sent and answered between the failures', () => {
    let line = afterFailure(noAttempts, unclear, 10, 0);
    line = afterFailure(line, unclear, 20, 11);
    expect(isSpent(line)).toBe(false);
    expect(isSpent(afterFailure(line, unclear, 30, 21))).toBe(true);
  });

  it('are not spent by answers to what was sent before the failures', () => {
    let line = noAttempts;
    for (let at = 10; at <= 100; at += 10) line = afterFailure(line, unclear, at, at - 11);
    expect([isSpent(line), line.own]).toEqual([false, 0]);
  });

  it('count a suspicion once, when others were answered since', () => {
    let line = afterFailure(noAttempts, unclear, 1, 0);
    line = afterFailure(line, unclear, 2, 0);
    line = afterFailure(line, unclear, 6, 5);
    expect(line.own).toBe(1);
    line = afterFailure(line, passing, 7, 5);
    expect(line).toEqual({ made: 4, own: 2, suspected: null });
  });
});

describe('refusals of a line', () => {
  it('are counted where others were sent and answered between two of them', () => {
    const first = afterRefusal(undefined, 10, 50);
    expect(first.passed).toBe(0);
    const second = afterRefusal(first, 20, 9);
    expect(second.passed).toBe(0);
    expect(afterRefusal(second, 30, 20).passed).toBe(1);
  });
});
