import { beforeEach, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { Throughput } from './throughput.ts';

let clock: ManualClock;
let throughput: Throughput;

beforeEach(() => {
  clock = createManualClock();
  throughput = new Throughput(clock);
});

/** Runs a line of `tokens` for `ms`. */
async function run(tokens: number, ms: number): Promise<void> {
  throughput.sent('tiny');
  await clock.advance(ms);
  throughput.answered('tiny', tokens);
  throughput.landed('tiny');
}

it('counts the time in which lines are in flight, not the time between them', async () => {
  await run(1_000, 1_000);
  await clock.advance(60_000);
  await run(1_000, 1_000);
  await clock.advance(7_000);
  expect(throughput.rates()).toEqual({ tiny: { tokensPerSecond: 1_000, idleMs: 7_000 } });
});

it('counts the time of concurrent lines once', async () => {
  for (let line = 0; line < 10; line++) throughput.sent('tiny');
  await clock.advance(2_000);
  for (let line = 0; line < 9; line++) {
    throughput.answered('tiny', 100);
    throughput.landed('tiny');
  }
  expect(throughput.rates()).toEqual({ tiny: { tokensPerSecond: 450, idleMs: 0 } });
  await clock.advance(1_000);
  expect(throughput.rates()).toEqual({ tiny: { tokensPerSecond: 300, idleMs: 0 } });
});

it('is unknown before the first result, and after too short a time', async () => {
  throughput.sent('tiny');
  await clock.advance(5_000);
  throughput.landed('tiny');
  expect(throughput.rates()).toEqual({});
  await run(1, 1);
  expect(Object.keys(throughput.rates())).toEqual(['tiny']);
  const short = new Throughput(clock);
  short.sent('tiny');
  await clock.advance(249);
  short.answered('tiny', 1);
  expect(short.rates()).toEqual({});
});

it('follows a change of speed within minutes', async () => {
  for (let n = 0; n < 600; n++) await run(1_000, 1_000);
  for (let n = 0; n < 300; n++) await run(100, 1_000);
  expect(throughput.rates().tiny!.tokensPerSecond).toBeLessThan(250);
});
