import { expect, it } from 'vitest';
import { heavySlices } from '../base/loop-slices.ts';
import { createScanGate } from './scan-gate.ts';

it('lets the database rest between the reads of an org while an interactive request is in flight (attack 9)', async () => {
  const begun: string[] = [];
  const gate = createScanGate();
  const read = (org: string) =>
    gate.within(org, 1, undefined, async () => {
      begun.push(org);
    });
  // No timer fires between microtasks.
  const microtasks = async () => {
    for (let n = 0; n < 100; n++) await Promise.resolve();
  };
  const leave = heavySlices.enterInteractive();
  const reads = [read('a'), read('a'), read('b')];
  await microtasks();
  expect(begun).toEqual(['a', 'b']);
  await Promise.all(reads);
  expect(begun).toEqual(['a', 'b', 'a']);
  leave();
  const more = [read('c'), read('c')];
  await Promise.all(more);
  expect(begun.slice(3)).toEqual(['c', 'c']);
});

it('reads one after the other without a rest while no interactive request is in flight', async () => {
  let read = 0;
  const gate = createScanGate();
  for (let n = 0; n < 3; n++) void gate.within('a', 1, undefined, async () => void read++);
  for (let n = 0; n < 100; n++) await Promise.resolve();
  expect(read).toBe(3);
});
