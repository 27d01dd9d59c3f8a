import { beforeEach, describe, expect, it } from 'vitest';
import { makeBatch } from '../../../test/store/fixtures.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { createMemoryBlobs, type MemoryBlobs } from '../../../test/support/memory-blobs.ts';
import { createIds } from '../../base/ids.ts';
import { systemRandom } from '../../base/system.ts';
import type { Batch, ResultStream } from '../../core/batch.ts';
import type { StoredFile } from '../../core/file.ts';
import type { Store } from '../../store/store.ts';
import type { PageSize, ResultRow } from '../../store/contract/results.ts';
import { createVerifiedReads } from '../../files/verified-bytes.ts';
import { assembleResultFile, resultFilename } from '../finalize/result-file.ts';
import { ResultReaders, readResults } from './results.ts';

const text = (n: number) => `{"n":${n},"text":"${'é'.repeat(n % 40)}"}`;
const encoder = new TextEncoder();

const outcome = {
  code: null,
  model: 'm',
  inputTokens: 1,
  cachedTokens: 0,
  outputTokens: 1,
  attempts: 1,
  run: null,
};

/** As much of a store as reading results asks for, with rows that can be cleared away. */
function createRows(count: number) {
  let rows: ResultRow[] = Array.from({ length: count }, (_, at) => ({
    n: at + 1,
    line: at,
    ...outcome,
    body: encoder.encode(text(at + 1)),
  }));
  const files = new Map<string, StoredFile>();
  const batches = new Map<string, Batch>();
  const asked: number[] = [];
  const store = {
    results: {
      tail: async (_batchId: string, stream: ResultStream, after: number, most: PageSize) => {
        asked.push(most.bytes);
        return stream === 'output' ? rows.filter((row) => row.n > after).slice(0, most.rows) : [];
      },
    },
    batches: { find: async (id: string) => batches.get(id) },
    files: { find: async (id: string) => files.get(id) },
  } as unknown as Store;
  return { store, files, batches, asked, purge: (n: number) => (rows = rows.slice(n)) };
}

async function read(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const lines = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `${text(from + at + 1)}\n`).join('');

describe('results', () => {
  const total = 1_300;
  let rows: ReturnType<typeof createRows>;
  let blobs: MemoryBlobs;
  let running: Batch;
  let readers: ResultReaders;

  beforeEach(() => {
    rows = createRows(total);
    blobs = createMemoryBlobs();
    readers = new ResultReaders();
    running = makeBatch({ status: 'in_progress', total, ok: total });
    rows.batches.set(running.id, running);
  });

  const open = (after: number, batch = running, stream: ResultStream = 'output') =>
    readResults(
      { store: rows.store, files: { read: createVerifiedReads(blobs) }, readers },
      batch,
      stream,
      after,
    );
  const at = async (...from: Parameters<typeof open>) => {
    const { read: begin, ...rest } = await open(...from);
    return { ...rest, bytes: await begin() };
  };

  /** The batch ends as its closing chunk would end it. */
  async function finish(): Promise<Batch> {
    const ids = createIds(createManualClock(), systemRandom);
    const file = await assembleResultFile({ store: rows.store, blobs, ids }, running, 'output', 0);
    rows.files.set(file!.id, file!);
    const finished: Batch = { ...running, status: 'completed', outputFileId: file!.id };
    rows.batches.set(running.id, finished);
    return finished;
  }

  it('reads the rows of a running batch, page by page', async () => {
    const { bytes, ...rest } = await at(0);
    expect(rest).toEqual({ status: 'in_progress', incomplete: true, lastLine: total, file: null });
    expect(await read(bytes)).toBe(lines(0, total));
  });

  it('has 64 MB on the way to all its readers together, a page that is sent and one behind it, until they are gone', async () => {
    const readingNow = await Promise.all(
      Array.from({ length: 300 }, async () => (await at(0)).bytes as AsyncGenerator<Uint8Array>),
    );
    for (const bytes of readingNow) await bytes.next();
    rows.asked.length = 0;
    for (const bytes of readingNow) await bytes.next();
    expect(2 * rows.asked.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(64 << 20);
    for (const bytes of readingNow) await bytes.return(undefined);
    rows.asked.length = 0;
    await read((await at(0)).bytes);
    expect(rows.asked).toEqual([64 << 10, 1 << 20, 1 << 20]);
  });

  it('returns the lines after a line, which may be none', async () => {
    expect(await read((await at(1_299)).bytes)).toBe(lines(1_299, 1_300));
    for (const after of [1_300, 5_000]) {
      const { bytes, lastLine } = await at(after);
      expect([lastLine, await read(bytes)]).toEqual([after, '']);
    }
    expect((await at(0, running, 'errors')).lastLine).toBe(0);
  });

  it.each([0, 1, 499, 500, 777, 1_299])('gives the same bytes from line %i of the file', async (after) => {
    const live = await read((await at(after)).bytes);
    const finished = await finish();
    rows.purge(total);
    const { bytes, incomplete } = await at(after, finished);
    expect(incomplete).toBe(false);
    expect(await read(bytes)).toBe(live);
  });

  it('goes on in the file where rows are cleared away while it reads', async () => {
    const { bytes } = await at(0);
    await finish();
    const deps: Uint8Array[] = [];
    for await (const chunk of bytes) {
      deps.push(chunk);
      rows.purge(900);
    }
    expect(Buffer.concat(deps).toString()).toBe(lines(0, total));
  });

  it('reads any part of the file of a batch that has ended', async () => {
    const finished = await finish();
    const { file, read: part } = await open(0, finished);
    const whole = Buffer.from(lines(0, total));
    expect(file!.bytes).toBe(whole.length);
    expect(await read(await part({ start: 10, end: 500 }))).toBe(whole.toString('utf8', 10, 500));
    expect((await open(1, finished)).file).toBeNull();
    expect((await open(0, finished, 'errors')).file).toBeNull();
  });

  it('ends at the announced line, although the batch went on and ended meanwhile', async () => {
    const early = { ...running, ok: 700 };
    const { bytes, lastLine } = await at(0, early);
    await finish();
    rows.purge(total);
    expect(lastLine).toBe(700);
    expect(await read(bytes)).toBe(lines(0, 700));
  });

  it('says that a file is gone that was deleted', async () => {
    const finished = await finish();
    rows.purge(total);
    rows.files.clear();
    await expect(at(0, finished)).rejects.toMatchObject({ code: 'not_found', status: 404 });
  });

  it('F52: is an error before the first byte when the file is damaged, wherever the reading begins', async () => {
    const finished = await finish();
    rows.purge(total);
    const [file] = rows.files.values();
    const whole = blobs.stored.get(file!.blobId)!;
    const flipped = whole.slice();
    flipped[flipped.length - 9]! ^= 1;
    for (const bytes of [flipped, whole.subarray(0, whole.length >> 1), new Uint8Array(0)]) {
      blobs.put(file!.blobId, bytes);
      for (const after of [0, 700])
        await expect(at(after, finished)).rejects.toMatchObject({
          code: 'damaged',
          message: expect.stringContaining(`${file!.id} (${file!.blobId})`),
        });
    }
    blobs.put(file!.blobId, whole);
    expect(await read((await at(0, finished)).bytes)).toBe(lines(0, total));
  });

  it('F52: never ends cleanly with fewer lines than announced', async () => {
    const finished = { ...(await finish()), ok: total + 1 };
    rows.purge(total);
    await expect(read((await at(0, finished)).bytes)).rejects.toMatchObject({ code: 'damaged' });
  });
});

describe('a result file', () => {
  const ids = createIds(createManualClock(), systemRandom);
  const batch = makeBatch({ resultTtlMs: 1_000 });

  it('holds the rows in order, with its size, its hash and its lifetime', async () => {
    const blobs = createMemoryBlobs();
    const { store } = createRows(1_100);
    const file = await assembleResultFile({ store, blobs, ids }, batch, 'output', 5_000);
    const bytes = blobs.stored.get(file!.blobId)!;
    expect(Buffer.from(bytes).toString()).toBe(lines(0, 1_100));
    const hash = Buffer.from(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes))).toString('hex');
    expect(file).toMatchObject({
      orgId: batch.orgId,
      purpose: 'batch_output',
      filename: resultFilename(batch.id, 'output'),
      bytes: bytes.length,
      sha256: hash,
      createdAt: 5_000,
      expiresAt: 6_000,
    });
  });

  it('is none where there are no rows, and leaves nothing behind', async () => {
    const blobs = createMemoryBlobs();
    expect(
      await assembleResultFile({ store: createRows(9).store, blobs, ids }, batch, 'errors', 0),
    ).toBeNull();
    expect(blobs.stored.size).toBe(0);
  });

  it('leaves nothing behind when the disk is full', async () => {
    const blobs = createMemoryBlobs();
    const full = blobs.gatedBy(async (operation) => {
      if (operation === 'commit') throw new Error('ENOSPC');
    });
    const writing = assembleResultFile({ store: createRows(9).store, blobs: full, ids }, batch, 'output', 0);
    await expect(writing).rejects.toThrow('ENOSPC');
    expect(blobs.stored.size).toBe(0);
  });
});
