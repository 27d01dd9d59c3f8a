import { describe, expect, test } from 'vitest';
import { type SlotView, chooseSlot, commonLength } from './slots.ts';

const tokens = (length: number, from = 0): number[] => Array.from({ length }, (_, i) => from + i);
const slot = (held: number[], lastUsed = 0, prefix = ''): SlotView => ({ tokens: held, lastUsed, prefix });

test('commonLength counts the shared tokens at the start', () => {
  expect(commonLength([1, 2, 3], [1, 2, 4])).toBe(2);
  expect(commonLength([], [1])).toBe(0);
  expect(commonLength([1, 2], [1, 2, 3])).toBe(2);
});

describe('the slot for a prompt', () => {
  test('is the one with most of it cached', () => {
    const slots = [slot(tokens(30)), slot(tokens(60), 9), slot([])];
    expect(chooseSlot(slots, tokens(100), '')).toBe(slots[1]);
  });

  test('is the one with less to lose of two equal ones', () => {
    const slots = [slot([...tokens(50), 7, 7, 7]), slot(tokens(50), 9)];
    expect(chooseSlot(slots, tokens(100), '')).toBe(slots[1]);
  });

  test('is the least recently used one when all have less than a tenth', () => {
    const slots = [slot(tokens(9), 3), slot(tokens(5), 1), slot(tokens(5, 500), 2)];
    expect(chooseSlot(slots, tokens(100), '')).toBe(slots[1]);
    expect(chooseSlot([slot(tokens(10), 3), slot([], 1)], tokens(100), '').lastUsed).toBe(3);
  });

  test('is one with the same prefix name when tokens decide nothing', () => {
    const slots = [slot([], 1, 'a'), slot([], 2, 'b'), slot([], 3, 'b')];
    expect(chooseSlot(slots, tokens(100), 'b')).toBe(slots[1]);
    expect(chooseSlot(slots, tokens(100), 'c')).toBe(slots[0]);
  });
});
