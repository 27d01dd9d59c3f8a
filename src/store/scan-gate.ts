import { createFairGate } from '../base/fair-gate.ts';

/** Slices that are read at a time, in total and for one org. */
const slices = { capacity: 2, maxPerOwner: 1 };

/**
 * Shares the reads of many rows, slice by slice, among orgs: however many an org requests, those of another org wait for two slices at
 * most.
 */
export const createScanGate = () => createFairGate(slices);
