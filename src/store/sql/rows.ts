import type { Batch, Chunk, LineRef } from '../../core/batch.ts';
import type { StoredFile } from '../../core/file.ts';
import type { BatchState } from '../contract/batches.ts';
import { tableOf } from './table.ts';

export const files = tableOf<StoredFile>('files', { json: ['warnings'], damaged: { warnings: [] } })(
  'id orgId keyId purpose filename bytes blobId sha256 requests endpoint warnings createdAt expiresAt',
);

/** Batch with the text that searches look through. */
interface BatchRow extends Batch {
  search: string;
}

/** Damaged JSON does not prevent showing or ending a batch. `claim.ts` reads the prices strictly, so that no line runs unbilled. */
export const batches = tableOf<BatchRow, 'search'>('batches', {
  unread: ['search'],
  json: ['prices', 'errors', 'warnings'],
  damaged: { prices: {}, errors: [], warnings: [] },
})(
  'id orgId keyId keyFamily endpoint status total ok err est priority due closing acceptUntil inputFileId inputName outputFileId errorFileId model metadata',
  'tag prices priceFactor errors warnings pausedAt pausedMs atRiskAt retryOf tier resultTtlMs windowMs createdAt inProgressAt expiresAt',
  'completedAt failedAt expiredAt cancellingAt cancelledAt search',
);

export const batchStates = tableOf<BatchState>('batches')(
  'id orgId status closing due pausedAt acceptUntil expiresAt total ok err keyId keyFamily endpoint tag tier',
);

/** Chunk with packed lines, and columns of its batch for the index of ready chunks. */
interface ChunkRow extends Omit<Chunk, 'lines'> {
  orgId: string;
  due: number;
  n: number;
  state: 'ready' | 'held';
  lines: string;
}

type Repeated = 'orgId' | 'due' | 'n' | 'state';

export const chunks = tableOf<ChunkRow, Repeated>('batch_chunks', {
  unread: ['orgId', 'due', 'n', 'state'],
})('batchId seq model orgId due n prefix lines est state epoch kills');

/** Packs lines for storage in dispatch order: `[[line, offset, length, checksum?], ...]`. */
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

export function toChunk(row: Omit<ChunkRow, Repeated>): Chunk {
  return { ...row, lines: unpackLines(row.lines) };
}
