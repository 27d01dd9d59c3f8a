import type { ClaimedChunk, RunningBatch } from '../../src/batches/claimed/claimed-chunks.ts';
import { ChunkLines } from '../../src/batches/lines/chunk-lines.ts';
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
    cancelled: new Set(),
    calls: new Map(),
    abort: new AbortController(),
    stopping: false,
    yielding: false,
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
  return {
    chunk: { batchId: batch.id, seq, model, prefix, lines: refs, est: lines, epoch: 1, kills: 0 },
    model,
    batch,
    lines: new ChunkLines(batch.input),
    todo: [...refs],
    parked: [],
    inFlight: 0,
    remaining: lines,
    attempts: new Map(),
    suspect,
    yielding: false,
  };
}
