import { type ClaimedChunk, type RunningBatch, toClaimed } from '../../src/batches/claimed/claimed-chunks.ts';
import type { WorkEffects } from '../../src/batches/claimed/local-work.ts';
import { fileInput } from '../../src/batches/lines/line-input.ts';
import { createMemoryBlobs } from './memory-blobs.ts';

/** Returns a batch as the process that runs it has it in memory. */
export function runningBatch(change: Partial<RunningBatch> = {}): RunningBatch {
  return {
    id: 'batch_1',
    orgId: 'org_1',
    keyId: 'key_1',
    keyFamily: null,
    weight: 1,
    endpoint: '/v1/chat/completions',
    due: 0,
    expiresAt: 0,
    priced: [],
    prices: {},
    priceFactor: 1,
    tier: null,
    input: fileInput(createMemoryBlobs(), 'blob_1'),
    state: 'running',
    abort: new AbortController(),
    ...change,
  };
}

/** Returns a leased chunk of `lines` lines, none of them sent. */
export function claimedChunk(change: {
  batch?: RunningBatch;
  seq?: number;
  model?: string;
  prefix?: string;
  lines?: number;
  suspect?: boolean;
}): ClaimedChunk {
  const { batch = runningBatch(), seq = 1, model = 'm', prefix = '', lines = 2, suspect = false } = change;
  const refs = Array.from({ length: lines }, (_, at) => ({ line: seq * 100 + at, offset: 0, length: 0 }));
  const chunk = { batchId: batch.id, seq, model, prefix, lines: refs, est: lines, epoch: 1, kills: 0 };
  return toClaimed(chunk, model, batch, suspect);
}

/** Effects of work whose end does not matter. */
export const noEffects: WorkEffects = { release: () => {}, finish: () => {} };
