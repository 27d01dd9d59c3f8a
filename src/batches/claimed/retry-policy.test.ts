import { describe, expect, it } from 'vitest';
import { Outcomes } from '../../engines/pool/health/outcomes.ts';
import { unavailable, type Blame, transient, ambiguous } from '../../core/errors.ts';
import {
  afterFailure,
  afterRefusal,
  type Attempts,
  isMessageRepeated,
  isSpent,
  noAttempts,
} from './retry-policy.ts';

const told = (blame: Blame, said?: string) => ({
  code: blame.certain ? ('engine_overloaded' as const) : ('upstream_error' as const),
  blame,
  upstreamMessage: said,
});
const at = (workedAt: number) => ({ workedAt, answers: 0, breaks: 0, isBreak: false });
const fail = (line: Attempts, blame: Blame, now: number, workedAt: number) =>
  afterFailure(line, told(blame), now, at(workedAt));

describe('the attempts of a line', () => {
  it('are spent after three failures of its own', () => {
    let line = noAttempts;
    for (const spent of [false, false, true]) {
      line = fail(line, transient, 0, 0);
      expect(isSpent(line)).toBe(spent);
    }
    expect(line.made).toBe(3);
  });

  it('are not spent by an outage, however long', () => {
    let line = noAttempts;
    for (let i = 0; i < 100; i++) line = fail(line, ambiguous, i, -1);
    expect([isSpent(line), line.made]).toEqual([false, 100]);
  });

  it('are spent where others were sent and answered between the failures', () => {
    let line = fail(noAttempts, ambiguous, 10, 0);
    line = fail(line, ambiguous, 20, 11);
    expect(isSpent(line)).toBe(false);
    expect(isSpent(fail(line, ambiguous, 30, 21))).toBe(true);
  });

  it('are not spent by answers to requests sent before the failures', () => {
    let line = noAttempts;
    for (let now = 10; now <= 100; now += 10) line = fail(line, ambiguous, now, now - 11);
    expect([isSpent(line), line.own]).toEqual([false, 0]);
  });

  it('count a suspicion once, when others were answered since', () => {
    let line = fail(noAttempts, ambiguous, 1, 0);
    line = fail(line, ambiguous, 2, 0);
    line = fail(line, ambiguous, 6, 5);
    expect(line.own).toBe(1);
    line = fail(line, transient, 7, 5);
    expect(line).toMatchObject({ made: 4, own: 2, isSuspected: false });
  });

  it('recognize a message that an upstream repeats for the line', () => {
    const line = afterFailure(noAttempts, told(ambiguous, 'No such field.'), 1, at(0));
    const again = (said?: string) => isMessageRepeated(line, told(ambiguous, said));
    expect([again('No such field.'), again('Out of memory.'), again()]).toEqual([true, false, false]);
    expect(isMessageRepeated(fail(noAttempts, ambiguous, 1, 0), told(ambiguous))).toBe(false);
  });
});

describe('refusals of a line', () => {
  /** A line that is refused once a second, with `answers` and `breaks` of other requests before each refusal. */
  function refused(blame: Blame, times: number, others: { answers: number; breaks: number }) {
    const outcomes = new Outcomes();
    let line = noAttempts;
    for (let now = 1_000; now <= times * 1_000; now += 1_000) {
      for (let n = 0; n < others.answers; n++) {
        outcomes.answered(now - 500 + n);
        if (n < others.breaks) outcomes.failed(now - 500 + n, false);
      }
      if (others.breaks > 0) outcomes.answered(now - 1);
      outcomes.failed(now, line !== noAttempts);
      line = afterRefusal(line, told(blame), now, outcomes);
    }
    return line;
  }

  it('are its own where others were sent and answered between them: the fifth is the last', () => {
    const four = refused(unavailable, 4, { answers: 1, breaks: 0 });
    expect([isSpent(four), four.made]).toEqual([false, 3]);
    const five = refused(unavailable, 5, { answers: 1, breaks: 0 });
    expect([isSpent(five), five.made]).toEqual([true, 4]);
  });

  it('cost no attempt while no request is answered, nor where others are refused as well', () => {
    for (const others of [
      { answers: 0, breaks: 0 },
      { answers: 4, breaks: 2 },
      { answers: 100, breaks: 10 },
    ]) {
      const line = refused(unavailable, 100, others);
      expect([isSpent(line), line.made], JSON.stringify(others)).toEqual([false, 0]);
    }
    expect(isSpent(refused(unavailable, 5, { answers: 100, breaks: 2 }))).toBe(true);
  });

  it.each([
    ['a rate', { ...unavailable, scope: 'model' } as const],
    ['a key', { ...unavailable, scope: 'account' } as const],
  ])('are never its own where they tell of %s', (_, blame) => {
    const line = refused(blame, 100, { answers: 1, breaks: 0 });
    expect([isSpent(line), line.made]).toEqual([false, 0]);
  });

  it('and failures count together', () => {
    let line = fail(noAttempts, ambiguous, 1, 0);
    for (const [now, spent] of [
      [10, false],
      [20, false],
      [30, true],
    ] as const) {
      line = afterRefusal(line, told(unavailable), now, at(now - 1));
      expect(isSpent(line), String(now)).toBe(spent);
    }
    expect(line).toMatchObject({ made: 4, own: 1, refused: 3 });
  });

  it("do not count failures that began together with the line's", () => {
    const outcomes = new Outcomes();
    let line = noAttempts;
    for (let now = 1_000; now <= 5_000; now += 1_000) {
      outcomes.answered(now - 1);
      // A gateway that its failure closed refuses another one first.
      outcomes.failed(now, false);
      outcomes.failed(now, line !== noAttempts);
      line = afterRefusal(line, told(unavailable), now, outcomes);
    }
    expect(isSpent(line)).toBe(true);
  });
});
