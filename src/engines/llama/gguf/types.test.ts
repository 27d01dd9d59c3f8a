import { GgmlType, GgufFileType } from 'node-llama-cpp';
import { expect, it } from 'vitest';
import { fileTypes, tensorBytes, tensorTypes } from './types.ts';

it.each(Object.entries(tensorTypes))('%s has the name %s in the engine', (number, entry) => {
  expect(GgmlType[Number(number)]).toBe(entry![0]);
});

it.each(Object.entries(fileTypes))('%s has the name %s in the engine', (number, name) => {
  expect(GgufFileType[Number(number)]?.replace(/^(ALL|MOSTLY)_/, '')).toBe(name);
});

it.each([
  [0, 10, 40],
  [8, 64, 68],
  [12, 512, 288],
  [14, 256, 210],
  [30, 3, 6],
  [999, 1, undefined],
])('a tensor of type %d with %d numbers', (type, elements, bytes) => {
  expect(tensorBytes(type, elements)).toBe(bytes);
});
