import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../../../test/support/manual-clock.ts';
import type { ApiError } from '../../../core/errors.ts';
import { createHangWatch, type HangWatchDeps } from './hang-watch.ts';

type LifeSigns = Pick<HangWatchDeps, 'countersMoved' | 'sendProbe'>;

const idleMs = 120_000;
const hour = 3_600_000;
const never = () => new Promise<never>(() => {});
const absent = () => Promise.reject(new Error('refused'));

/** A watch over calls that wait, at a server that shows what is given. */
function watched(signs: LifeSigns) {
  const clock = createManualClock();
  const work = {
    waiting: 1,
    signs: 0,
    givenUp: [] as ApiError[],
    giveUp: (error: ApiError) => void work.givenUp.push(error),
  };
  const watch = createHangWatch({ clock, idleMs, work: () => work, ...signs });
  watch.begin();
  return { clock, work, watch };
}

describe('a server that sends no byte while calls wait', () => {
  it.each<[string, LifeSigns]>([
    ['that does not answer', { sendProbe: never }],
    ['that is not there', { sendProbe: absent }],
    ['whose counters stand still', { countersMoved: async () => false, sendProbe: never }],
    ['whose counters cannot be read', { countersMoved: absent, sendProbe: never }],
    ['that shows no counters, and does not answer', { countersMoved: async () => null, sendProbe: never }],
  ])('%s is found within idle', async (_, signs) => {
    const { clock, work, watch } = watched(signs);
    await clock.advance(idleMs * 0.7);
    expect(work.givenUp).toEqual([]);
    await clock.advance(idleMs * 0.3);
    expect(work.givenUp[0]).toMatchObject({
      code: 'upstream_timeout',
      blame: { scope: 'replica', certain: true, retry: true },
    });
    expect(() => watch.begin()).toThrow('hang');
  });

  it.each<[string, LifeSigns]>([
    ['answers', { sendProbe: async () => {} }],
    ['has counters that move', { countersMoved: async (first) => !first, sendProbe: never }],
    ['shows no counters, and answers', { countersMoved: async () => null, sendProbe: async () => {} }],
  ])('is left alone for an hour while it %s', async (_, signs) => {
    const { clock, work, watch } = watched(signs);
    await clock.advance(hour);
    expect(work.givenUp).toEqual([]);
    expect(() => watch.begin()).not.toThrow();
  });

  it('gets about two test requests within the idle time', async () => {
    let asked = 0;
    const { clock } = watched({ sendProbe: async () => void asked++ });
    await clock.advance(idleMs * 10);
    expect(asked).toBeGreaterThan(10);
    expect(asked).toBeLessThanOrEqual(25);
  });
});

it('gets no test request while bytes of any answer arrive', async () => {
  let asked = 0;
  const { clock, work } = watched({ sendProbe: async () => void asked++ });
  for (let at = 0; at < hour; at += idleMs / 4) {
    work.signs++;
    await clock.advance(idleMs / 4);
  }
  expect([asked, work.givenUp]).toEqual([0, []]);
});

it('is tested until it answers, and then gets calls again', async () => {
  let answers: LifeSigns['sendProbe'] = never;
  const { clock, work, watch } = watched({
    countersMoved: async () => false,
    sendProbe: (signal) => answers(signal),
  });
  await clock.advance(idleMs);
  work.waiting = 0;
  await clock.advance(hour);
  expect(() => watch.begin()).toThrow('hang');
  answers = async () => {};
  await clock.advance(idleMs);
  expect(() => watch.begin()).not.toThrow();
});

it('has no timer while no call waits', async () => {
  const { clock, work } = watched({ sendProbe: never });
  work.waiting = 0;
  await clock.advance(idleMs);
  expect(clock.pending).toBe(0);
});
