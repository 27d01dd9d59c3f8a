import { beforeAll, expect, it } from 'vitest';
import { crowded, overdue, small } from '../../bench/scale/options.ts';
import { type ScaleResult, simulate } from '../../bench/scale/simulate.ts';

let result: ScaleResult;

beforeAll(async () => {
  result = await simulate(small);
});

it('keeps the slots of a hundred servers busy with ten processes', () => {
  expect(result.fill.steady).toBeGreaterThan(0.94);
});

it('serves orgs in proportion to their weights', () => {
  const [largest, second] = result.fairness;
  // More orgs than a process claims from at a time: the claim decides.
  expect(largest!.orgs).toBeGreaterThan(90);
  expect(largest!.heavyToLight).toBeGreaterThan(0.7);
  expect(largest!.heavyToLight).toBeLessThan(1.4);
  // Every process has lines of all orgs: the dispatcher decides.
  expect(second!.orgs).toBeLessThan(64);
  expect(second!.jain).toBeGreaterThan(0.97);
  expect(second!.heavyToLight).toBeGreaterThan(0.85);
  expect(second!.heavyToLight).toBeLessThan(1.15);
});

it('starts the batch of an org without other work within a second', () => {
  expect(result.firstLine.never).toBe(0);
  expect(result.firstLine.times.length).toBeGreaterThan(20);
  expect(Math.max(...result.firstLine.times)).toBeLessThan(2_000);
});

it('records every line once, also after servers and a process have died', () => {
  expect(result.lostChunks).toBeGreaterThan(0);
  expect(result.lines.doubled).toBe(0);
  expect(result.fill.replicas).toBeGreaterThan(0.9);
  expect(result.fill.processes).toBeGreaterThan(0.85);
});

it('completes late batches in their windows, of orgs behind more than a claim looks at', async () => {
  const { windows, fill } = await simulate(crowded);
  expect(windows.ended).toBeGreaterThan(20);
  expect(windows.missed).toBe(0);
  expect(fill.steady).toBeGreaterThan(0.9);
});

it('leaves half of the tokens to orgs without late work, and starts new ones soon, however much work is late', async () => {
  const { lateShare, firstLine } = await simulate(overdue);
  expect(lateShare).toBeGreaterThan(0.45);
  expect(lateShare).toBeLessThan(0.8);
  expect(firstLine.never).toBe(0);
});
