import type { Chunk, LineRef } from '../../src/core/batch.ts';

/** Chunk that was claimed and is ready again. */
interface ReturnedChunk {
  seq: number;
  epoch: number;
  kills: number;
  /** Lines without a result. */
  lines: LineRef[];
}

/** An open batch: one model, lines without a common prefix. Chunks exist once they are claimed. */
export interface SimBatch {
  at: number;
  org: number;
  model: number;
  createdAt: number;
  expiresAt: number;
  due: number;
  total: number;
  /** Lines of a chunk, as `planChunks` cuts them. */
  size: number;
  /** Prompt tokens, and estimated tokens, of a line. */
  promptTokens: number;
  est: number;
  /** Number of the next chunk that was never claimed, from 1 on. */
  next: number;
  returned: ReturnedChunk[];
  /** Recorded lines. */
  done: number;
  /** Milliseconds of the simulation; null before its first line. */
  firstSentAt: number | null;
}

/** Length of a line that no process reads ahead: the lines of all processes would need a gigabyte. */
const unread = 2 ** 25;

/** Stored line of a batch. Its message is the id of the batch. */
export function storedLine(id: string): Uint8Array {
  const body = { model: 'm', messages: [{ role: 'user', content: id }] };
  return Buffer.from(JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body }));
}

/** All batches by number. Ids are built when they are needed: a million strings would need 100 MB. */
export class SimBatches {
  readonly all: SimBatch[] = [];

  add(fields: Omit<SimBatch, 'at' | 'size' | 'next' | 'returned' | 'done' | 'firstSentAt'>): SimBatch {
    const batch: SimBatch = {
      ...fields,
      at: this.all.length,
      size: Math.min(64, Math.max(4, Math.ceil(fields.total / 16))),
      next: 1,
      returned: none,
      done: 0,
      firstSentAt: null,
    };
    this.all.push(batch);
    return batch;
  }

  byId(id: string): SimBatch {
    return this.all[Number(id.slice(prefix.length))]!;
  }
}

const prefix = 'batch_';
const none: ReturnedChunk[] = [];

export function idOf({ at }: SimBatch): string {
  return prefix + String(at).padStart(8, '0');
}

export const orgId = (org: number): string => `org_${String(org).padStart(6, '0')}`;
export const orgOf = (id: string): number => Number(id.slice('org_'.length));
export const modelId = (model: number): string => `model-${model}`;

/** Number of chunks that the batch is cut into. */
function chunkCount({ total, size }: SimBatch): number {
  return Math.ceil(total / size);
}

/** Number of ready chunks. */
export function readyChunks(batch: SimBatch): number {
  return batch.returned.length + chunkCount(batch) - batch.next + 1;
}

/** Number of lines of a chunk that was never claimed. */
export function linesOf({ total, size }: SimBatch, seq: number): number {
  return Math.min(size, total - (seq - 1) * size);
}

/** Takes a ready chunk out of the batch, as a claim leases it. */
export function takeChunk(batch: SimBatch, seq: number): Chunk {
  const { size, est } = batch;
  const found = batch.returned.find((chunk) => chunk.seq === seq);
  if (found) batch.returned = batch.returned.filter((chunk) => chunk !== found);
  else if (seq !== batch.next++) throw new Error(`chunk ${seq} of ${idOf(batch)} is not the next one`);
  const first = (seq - 1) * size;
  const lines =
    found?.lines ??
    Array.from({ length: linesOf(batch, seq) }, (_, at) => ({
      line: first + at,
      offset: 0,
      length: unread,
    }));
  return {
    batchId: idOf(batch),
    seq,
    model: modelId(batch.model),
    prefix: '',
    lines,
    est: lines.length * est,
    epoch: (found?.epoch ?? 0) + 1,
    kills: found?.kills ?? 0,
  };
}

/** Makes a claimed chunk ready again. */
export function returnChunk(batch: SimBatch, { seq, epoch, kills, lines }: Chunk, lost: boolean): void {
  const returned = { seq, epoch, kills: kills + (lost ? 1 : 0), lines };
  batch.returned = [...batch.returned, returned].toSorted((a, b) => a.kills - b.kills || a.seq - b.seq);
}
