import { expect, test } from 'vitest';
import type { Batch } from '../../core/batch.ts';
import { parseMessageBatchListQuery } from './list.ts';
import { presentMessageBatch } from './present.ts';

test('counts requests that never ran separately from failed ones', () => {
  const ends = { completedAt: null, failedAt: null, expiredAt: null, cancelledAt: null, cancellingAt: 5 };
  const batch = { id: 'batch_1', total: 9, ok: 2, err: 4, status: 'cancelling', createdAt: 0, expiresAt: 1 };
  const errorSummary = [
    { code: 'batch_cancelled', count: 2 },
    { code: 'batch_expired', count: 1 },
    { code: 'upstream_error', count: 1 },
  ];
  const { request_counts: counts } = presentMessageBatch(
    {
      batch: { ...batch, ...ends } as unknown as Batch,
      errorSummary,
    } as never,
    '',
  );
  expect(counts).toEqual({ processing: 3, succeeded: 2, errored: 1, canceled: 2, expired: 1 });
});

test('a page has at most 100 batches, for any limit up to 1,000', () => {
  const limitOf = (limit: string) => parseMessageBatchListQuery({ limit }).limit;
  expect([limitOf('20'), limitOf('100'), limitOf('1000')]).toEqual([20, 100, 100]);
  expect(() => limitOf('1001')).toThrow(/from 1 to 1000/);
});
