import { describe, expect, it } from 'vitest';
import { Silences } from './silences.ts';

function holdAfter(silences: readonly number[], lineMs: number): number {
  const all = new Silences();
  for (const ms of silences) all.add(ms);
  return all.holdMs(lineMs);
}

describe('Silences', () => {
  it('lets lines return soon where interactive requests stay away for long', () => {
    expect(holdAfter([90_000, 90_000, 90_000], 2_000)).toBe(500);
    expect(holdAfter([90_000, 90_000, 90_000], 20_000)).toBe(500);
  });

  it('keeps long lines away between requests that come one after the other', () => {
    expect(holdAfter(Array(8).fill(5_000), 20_000)).toBe(8_000);
    expect(holdAfter([1_800, 1_900, 90_000, 1_900], 10_000)).toBe(2_000);
  });

  it('lets short lines run between them', () => {
    expect(holdAfter(Array(8).fill(5_000), 1_000)).toBe(500);
  });

  it('forgets silences of long ago', () => {
    expect(holdAfter([...Array(20).fill(5_000), ...Array(16).fill(90_000)], 20_000)).toBe(500);
  });
});
