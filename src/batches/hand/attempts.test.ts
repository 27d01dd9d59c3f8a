import { describe, expect, it } from 'vitest';
import { passing, unclear } from '../../core/errors.ts';
import { afterFailure, isSpent, noAttempts } from './attempts.ts';

describe('the attempts of a line', () => {
  it('are spent after three failures of its own', () => {
    let line = noAttempts;
    for (const spent of [false, false, true]) {
      line = afterFailure(line, passing, 0);
      expect(isSpent(line)).toBe(spent);
    }
    expect(line.made).toBe(3);
  });

  it('are not spent by an outage, however long', () => {
    let line = noAttempts;
    for (let i = 0; i < 100; i++) line = afterFailure(line, unclear, 7);
    expect([isSpent(line), line.made]).toEqual([false, 100]);
  });

  it('are spent where others were answered between the failures', () => {
    let line = afterFailure(noAttempts, unclear, 7);
    line = afterFailure(line, unclear, 8);
    expect(isSpent(line)).toBe(false);
    expect(isSpent(afterFailure(line, unclear, 9))).toBe(true);
  });

  it('count a suspicion once, when others were answered since', () => {
    let line = afterFailure(noAttempts, unclear, 1);
    line = afterFailure(line, unclear, 1);
    line = afterFailure(line, unclear, 5);
    expect(line.own).toBe(1);
    line = afterFailure(line, passing, 5);
    expect(line).toEqual({ made: 4, own: 2, suspected: null });
  });
});
