import { afterEach, beforeEach, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { createMemoryStore, type MemoryStore } from '../../test/support/memory-store.ts';
import { silent } from '../base/log.ts';
import { createDuties } from './duties.ts';

let clock: ManualClock;
let store: MemoryStore;
let away: Set<string>;
const stops: (() => Promise<void>)[] = [];

beforeEach(async () => {
  clock = createManualClock();
  store = createMemoryStore({ clock });
  await store.start();
  away = new Set();
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await store.stop();
});

async function join(worker: string, mayTake = () => true) {
  const duties = createDuties({
    store: {
      duties: {
        hold: (...hold) =>
          away.has(worker) ? Promise.reject(new Error('away')) : store.duties.hold(...hold),
      },
    },
    clock,
    log: silent,
    worker,
    mayTake,
  });
  stops.push(() => duties.stop());
  await duties.start();
  return duties;
}

it('one process holds the duties, and the next one takes them when it stops', async () => {
  const first = await join('wrk_1');
  const second = await join('wrk_2');
  await clock.advance(120_000);
  expect([first.isHolder(), second.isHolder()]).toEqual([true, false]);
  await first.stop();
  expect(first.isHolder()).toBe(false);
  await clock.advance(5_000);
  expect(second.isHolder()).toBe(true);
});

it('a holder that dies is followed within 25 seconds, and stopped before', async () => {
  const first = await join('wrk_1');
  const second = await join('wrk_2');
  away.add('wrk_1');
  let gapEnds = 0;
  for (let ms = 0; ms < 30_000; ms += 500) {
    await clock.advance(500);
    expect(first.isHolder() && second.isHolder()).toBe(false);
    if (second.isHolder() && gapEnds === 0) gapEnds = ms;
  }
  expect(gapEnds).toBeGreaterThan(10_000);
  expect(gapEnds).toBeLessThanOrEqual(25_000);
  // Its return changes nothing.
  away.clear();
  await clock.advance(10_000);
  expect([first.isHolder(), second.isHolder()]).toEqual([false, true]);
});

it('a process that should leave them to others returns them', async () => {
  let isAlone = true;
  const api = await join('wrk_1', () => isAlone);
  const worker = await join('wrk_2');
  expect(api.isHolder()).toBe(true);
  isAlone = false;
  await clock.advance(10_000);
  expect([api.isHolder(), worker.isHolder()]).toEqual([false, true]);
});

it('others learn the models at risk, and a new holder starts with them', async () => {
  const first = await join('wrk_1');
  const second = await join('wrk_2');
  first.reportAtRisk(new Set(['m1']));
  await clock.advance(10_000);
  expect([...second.atRisk]).toEqual(['m1']);
  away.add('wrk_1');
  await clock.advance(30_000);
  expect([second.isHolder(), [...second.atRisk]]).toEqual([true, ['m1']]);
  const third = await join('wrk_3');
  expect([...third.atRisk]).toEqual(['m1']);
});
