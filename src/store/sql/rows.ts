import type { Batch, Chunk, LineRef } from '../../core/batch.ts';
import type { StoredFile } from '../../core/file.ts';
import { columnsOf } from './columns.ts';

export const fileColumns = columnsOf<StoredFile>()(
  'id orgId purpose filename bytes blobId sha256 requests endpoint createdAt expiresAt',
);

export const batchColumns = columnsOf<Batch>('prices', 'errors')(
  'id orgId keyId endpoint status total ok err due closing acceptUntil inputFileId outputFileId errorFileId model metadata',
  'prices priceFactor errors pausedAt pausedMs atRiskAt retryOf resultTtlMs createdAt inProgressAt expiresAt',
  'completedAt failedAt expiredAt cancellingAt cancelledAt',
);

export interface ChunkRow {
  batch_id: string;
  seq: number;
  model: string;
  prefix: string;
  lines: string;
  est: number;
  epoch: number;
  kills: number;
}

/** A chunk's lines as stored: `[[line, offset, length, sum], ...]`, the sum where there is one, in the order in which they are to be sent. */
export function packLines(lines: readonly LineRef[]): string {
  return JSON.stringify(
    lines.map(({ line, offset, length, sum }) =>
      [line, offset, length, sum].slice(0, sum === undefined ? 3 : 4),
    ),
  );
}

export function unpackLines(text: string): LineRef[] {
  const packed = JSON.parse(text) as [number, number, number, number?][];
  return packed.map(([line, offset, length, sum]) =>
    sum === undefined ? { line, offset, length } : { line, offset, length, sum },
  );
}

export function toChunk(row: ChunkRow): Chunk {
  return {
    batchId: row.batch_id,
    seq: row.seq,
    model: row.model,
    prefix: row.prefix,
    lines: unpackLines(row.lines),
    est: row.est,
    epoch: row.epoch,
    kills: row.kills,
  };
}
