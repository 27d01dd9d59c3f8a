import { describe, expect, it } from 'vitest';
import { noUsage } from '../../core/usage.ts';
import type { LineResult } from '../../store/contract/results.ts';
import { halves, type ResultGroup } from './result-group.ts';

const row = (batchId: string, line: number): LineResult => ({
  batchId,
  line,
  stream: 'output',
  body: new Uint8Array(1),
  model: 'm',
  usage: noUsage,
  attempts: 1,
  code: null,
});
const lease = (batchId: string, seq: number) => ({ batchId, seq, epoch: 1 });
const told = ({ rows, finished }: ResultGroup) => [
  ...rows.map(({ batchId, line }) => `${batchId}${line}`),
  ...finished.map(({ batchId, seq }) => `${batchId}#${seq}`),
];

describe('halves', () => {
  it('parts batches first, then rows, and finishes chunks with what comes last', () => {
    const group = {
      rows: [row('a', 1), row('b', 1), row('a', 2), row('b', 2)],
      finished: [lease('b', 1), lease('a', 1)],
    };
    expect(halves(group)!.map(told)).toEqual([
      ['a1', 'a2', 'a#1'],
      ['b1', 'b2', 'b#1'],
    ]);
    expect(halves(halves(group)![0])!.map(told)).toEqual([['a1'], ['a2', 'a#1']]);
  });

  it.each<[string, ResultGroup, string[][] | undefined]>([
    ['a row and its chunk', { rows: [row('a', 1)], finished: [lease('a', 1)] }, [['a1'], ['a#1']]],
    ['two chunks', { rows: [], finished: [lease('a', 1), lease('a', 2)] }, [['a#1'], ['a#2']]],
    ['a row', { rows: [row('a', 1)], finished: [] }, undefined],
    ['a chunk', { rows: [], finished: [lease('a', 1)] }, undefined],
  ])('comes to an end: %s', (_, group, parts) => {
    expect(halves(group)?.map(told)).toEqual(parts);
  });
});
