import { createFairGate, type Gate } from '../base/fair-gate.ts';
import { heavySlices } from '../base/loop-slices.ts';
import { systemClock } from '../base/system.ts';

/** Slices that are read at a time, in total and for one org. */
const slices = { capacity: 2, maxPerOwner: 1 };

/**
 * Shares the reads of many rows, slice by slice, among orgs: however many an org requests, those of another org wait for two slices at
 * most. While an interactive request is in flight, a read keeps its place for as long again as it took, so that the database rests.
 */
export function createScanGate(): Gate {
  const gate = createFairGate(slices);
  return {
    async within(owner, weight, signal, work) {
      const leave = await gate.enter(owner, weight, signal);
      const began = systemClock.monotonic();
      try {
        return await work();
      } finally {
        heavySlices.afterRest(systemClock.monotonic() - began, leave);
      }
    },
  };
}
