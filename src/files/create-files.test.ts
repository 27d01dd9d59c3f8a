import { wholePage } from '../base/page-slices.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { callerFor, startFiles } from '../../test/support/files.ts';
import type { ByteRange } from './files.ts';
import type { StoredFile } from '../core/file.ts';
import type { Caller } from '../core/org.ts';
import type { IdempotencyToken } from '../store/contract/idempotency.ts';
import { indexName } from './upload.ts';

const one = callerFor('org_1');
const two = callerFor('org_2');
const hour = 3_600_000;
const line = (customId: string) =>
  JSON.stringify({
    custom_id: customId,
    method: 'POST',
    url: '/v1/embeddings',
    body: { model: 'vectors', input: 'x' },
  });

let system: Awaited<ReturnType<typeof startFiles>>;
beforeEach(async () => {
  system = await startFiles();
});
afterEach(() => system.stop());

async function upload(options: { expiresAt?: number; creation?: IdempotencyToken; text?: string } = {}) {
  const begun = await system.files.begin(one);
  await begun.write(Buffer.from(options.text ?? line('a')));
  const sealed = await begun.seal({ filename: 'in.jsonl', expiresAt: options.expiresAt ?? null });
  return sealed.commit(options.creation);
}

async function read(caller: Caller, id: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array>> {
  return system.files.read(await system.files.get(caller, id), range);
}

async function contentOf(file: StoredFile, range?: ByteRange): Promise<string> {
  const bytes = await read(one, file.id, range);
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const blobNames = () => [...system.blobs.stored.keys()].toSorted();
const missing = { status: 404, code: 'not_found', message: 'No such file.' };

describe('files', () => {
  it('are read back as they came', async () => {
    const text = `\ufeff${line('a')}\r\n`;
    const { file } = await upload({ text });
    expect(await contentOf(file)).toBe(text);
  });

  it.each([
    ['read', (file: StoredFile) => system.files.read(file)],
    ['measured', (file: StoredFile) => system.files.requireContent(file)],
    ['planned with', (file: StoredFile) => system.files.index(file)],
  ])('%s after they were deleted are not there, and without their content damaged', async (_how, act) => {
    const [deleted, damaged] = [await upload(), await upload()];
    await system.files.remove(one, deleted.file.id);
    await expect(act(deleted.file)).rejects.toMatchObject(missing);
    const { blobId } = damaged.file;
    for (const name of [blobId, indexName(blobId)]) await system.blobs.remove(name);
    await expect(act(damaged.file)).rejects.toMatchObject({ name: 'BlobError', code: 'missing' });
  });

  it('C05, B39: unknown, foreign and malformed ids are the same 404', async () => {
    const acts = [
      (caller: Caller, id: string) => system.files.get(caller, id),
      (caller: Caller, id: string) => system.files.remove(caller, id),
      (caller: Caller, id: string) => read(caller, id),
    ];
    const { file } = await upload();
    for (const id of [
      file.id.replace(/.$/, 'x'),
      `file-${'0'.repeat(32)}`,
      'file-',
      '../x',
      '%00',
      'x'.repeat(10_000),
    ])
      for (const act of acts) await expect(act(one, id)).rejects.toMatchObject(missing);
    for (const act of acts) await expect(act(two, file.id)).rejects.toMatchObject(missing);
    expect(await system.files.get(one, file.id)).toEqual(file);
  });

  it('page by cursor in both orders, and say whether there is more', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 5; at += 1) {
      const { file } = await upload();
      ids.push(file.id);
    }
    const page = async (order: 'asc' | 'desc', after?: string) => {
      const query = { order, limit: 2, ...(after !== undefined && { after }) };
      const { items, hasMore } = await wholePage(system.files.list(one, query));
      return [items.map(({ id }) => ids.indexOf(id)), hasMore];
    };
    expect(await page('asc')).toEqual([[0, 1], true]);
    expect(await page('asc', ids[3])).toEqual([[4], false]);
    expect(await page('desc', ids[4])).toEqual([[3, 2], true]);
    await system.files.remove(one, ids[2]!);
    expect(await page('desc', ids[2])).toEqual([[1, 0], false]);
    expect((await wholePage(system.files.list(two, { order: 'asc', limit: 10 }))).items).toEqual([]);
    expect(
      (await wholePage(system.files.list(one, { order: 'asc', limit: 10, purpose: 'batch_output' }))).items,
    ).toEqual([]);
  });

  it('C30: removing one removes its blobs', async () => {
    const { file } = await upload();
    const other = await upload();
    await system.files.remove(one, file.id);
    expect(blobNames()).toEqual([other.file.blobId, indexName(other.file.blobId)].toSorted());
    await expect(system.files.get(one, file.id)).rejects.toMatchObject(missing);
  });

  it('expire at their instant, before any sweep', async () => {
    const { file } = await upload({ expiresAt: system.clock.now() + hour });
    await system.clock.advance(hour - 1);
    expect(await contentOf(file)).toBe(line('a'));
    await system.clock.advance(1);
    await expect(system.files.get(one, file.id)).rejects.toMatchObject(missing);
    await expect(read(one, file.id)).rejects.toMatchObject(missing);
    expect((await wholePage(system.files.list(one, { order: 'asc', limit: 10 }))).items).toEqual([]);
  });

  it('F45: a repeated creation returns the first file and leaves no second blob', async () => {
    const creation = {
      token: 'k:files:abc',
      bodyHash: 'h',
      startedAt: system.clock.now(),
      retry: 0,
      ttlMs: 24 * hour,
    };
    const first = await upload({ creation });
    const again = await upload({ creation });
    expect([first.replayed, again.replayed, again.file.id]).toEqual([false, true, first.file.id]);
    await expect(upload({ creation: { ...creation, bodyHash: 'other' } })).rejects.toMatchObject({
      status: 422,
      code: 'idempotency_mismatch',
    });
    expect(blobNames()).toHaveLength(2);
  });
});

describe('damaged content', () => {
  /** More than is checked before the first byte is given away. */
  const large = Array.from({ length: 10_000 }, (_, at) => `${line(`id-${at}`)}${' '.repeat(50)}`).join('\n');

  it('F52: is an error before the first byte of a small file', async () => {
    const { file } = await upload();
    const bytes = system.blobs.stored.get(file.blobId)!.slice();
    bytes[3]! ^= 1;
    system.blobs.put(file.blobId, bytes);
    await expect(read(one, file.id)).rejects.toThrow(/damaged: its SHA-256/);
    system.blobs.put(file.blobId, bytes.subarray(1));
    await expect(read(one, file.id)).rejects.toThrow(/damaged: its blob has/);
    await system.blobs.remove(file.blobId);
    await expect(read(one, file.id)).rejects.toThrow(/damaged: its blob is missing/);
  });

  it('F52: is an error before the first byte of a larger file at its first read', async () => {
    const { file } = await upload({ text: large });
    const bytes = system.blobs.stored.get(file.blobId)!.slice();
    bytes[bytes.length - 1]! ^= 1;
    system.blobs.put(file.blobId, bytes);
    await expect(read(one, file.id)).rejects.toMatchObject({
      code: 'damaged',
      message: expect.stringContaining(`${file.id} (${file.blobId})`),
    });
  });

  it('F52: never lets a file that was whole before end as if it still were', async () => {
    const { file } = await upload({ text: large });
    expect(await contentOf(file)).toBe(large);
    const bytes = system.blobs.stored.get(file.blobId)!.slice();
    bytes[bytes.length >> 1]! ^= 1;
    system.blobs.put(file.blobId, bytes);
    const stream = await read(one, file.id);
    let seen = 0;
    const readAll = async () => {
      for await (const chunk of stream) seen += chunk.length;
    };
    await expect(readAll()).rejects.toThrow(/damaged/);
    expect(seen).toBeLessThan(file.bytes);
    await expect(read(one, file.id)).rejects.toMatchObject({ code: 'damaged' });
  });

  it('F52: is an error before the first byte of a range, also of one beside it', async () => {
    const { file } = await upload({ text: large });
    const bytes = system.blobs.stored.get(file.blobId)!.slice();
    bytes[bytes.length - 1]! ^= 1;
    system.blobs.put(file.blobId, bytes);
    await expect(read(one, file.id, { start: 0, end: 9 })).rejects.toThrow(/damaged: its SHA-256/);
  });

  it('a range of a file that was whole is read without the rest', async () => {
    const { file } = await upload({ text: large });
    const range = { start: 300_000, end: 600_001 };
    expect(await contentOf(file, range)).toBe(large.slice(range.start, range.end));
    const reads = vi.spyOn(system.blobs, 'read');
    expect(await contentOf(file, range)).toBe(large.slice(range.start, range.end));
    expect(reads.mock.calls).toEqual([[file.blobId, range]]);
  });

  it('F52: a missing index is an error', async () => {
    const { file } = await upload();
    await system.blobs.remove(indexName(file.blobId));
    await expect(system.files.index(file)).rejects.toThrow(/index .* is missing/);
  });
});

describe('the sweep', () => {
  it('removes expired files with their blobs, and keeps the others', async () => {
    await system.files.start();
    const kept = await upload();
    for (let at = 0; at < 3; at += 1) await upload({ expiresAt: system.clock.now() + hour });
    await system.clock.advance(2 * hour + 120_000);
    await system.files.stop();
    expect(blobNames()).toEqual([kept.file.blobId, indexName(kept.file.blobId)].toSorted());
    expect(await system.store.files.find(kept.file.id)).toEqual(kept.file);
  });

  it('F02: sets aside blobs that no row has named for an hour, not younger ones', async () => {
    await system.files.start();
    const kept = await upload();
    system.blobs.put('blob_orphan', Buffer.from('x'));
    system.blobs.put('blob_orphan.index', Buffer.from('x'));
    await system.clock.advance(30 * 60_000);
    expect(system.blobs.stored.has('blob_orphan')).toBe(true);
    await system.clock.advance(2 * hour);
    expect([...system.blobs.quarantined.keys()].toSorted()).toEqual(['blob_orphan', 'blob_orphan.index']);
    system.blobs.put('blob_young', Buffer.from('x'));
    expect(blobNames()).toEqual(['blob_young', kept.file.blobId, indexName(kept.file.blobId)].toSorted());
    await system.clock.advance(30 * 60_000);
    expect(system.blobs.stored.has('blob_young')).toBe(true);
  });

  it('removes nothing because of a clock jump, and expired files once that time has passed', async () => {
    await system.files.start();
    const { file } = await upload({ expiresAt: system.clock.now() + 5 * hour });
    system.blobs.put('blob_orphan', Buffer.from('x'));
    await system.clock.advance(2 * hour);
    system.blobs.put('blob_young', Buffer.from('x'));
    system.clock.jump(30 * 24 * hour);
    await system.clock.advance(2 * hour);
    expect(await system.store.files.find(file.id)).toEqual(file);
    expect([...system.blobs.quarantined.keys()]).toContain('blob_orphan');
    await system.clock.advance(2 * hour);
    expect(await system.store.files.find(file.id)).toBeUndefined();
  });

  it('C30: scrubs deleted data from the database, each time', async () => {
    const scrub = vi.spyOn(system.store, 'scrub');
    await system.files.start();
    await system.clock.advance(hour + 60_000);
    expect(scrub).toHaveBeenCalledTimes(2);
  });

  it('removes blobs after seven days in quarantine, not before', async () => {
    await system.files.start();
    system.blobs.put('blob_orphan', Buffer.from('x'));
    await system.clock.advance(2 * hour);
    await system.clock.advance(6 * 24 * hour);
    expect([...system.blobs.quarantined.keys()]).toEqual(['blob_orphan']);
    await system.clock.advance(25 * hour);
    expect([...system.blobs.quarantined.keys()]).toEqual([]);
    expect(blobNames()).toEqual([]);
  });

  it('F51: restores blobs that a database from an older backup did not list, once a later one does', async () => {
    const { file } = await upload();
    const older = vi.spyOn(system.store.files, 'referencedBlobs').mockResolvedValue([]);
    await system.files.start();
    await system.clock.advance(3 * hour);
    await system.files.stop();
    expect(system.blobs.quarantined.size).toBe(2);
    older.mockRestore();
    await system.files.start();
    expect(await contentOf(file)).toBe(line('a'));
    expect(await system.files.index(file)).toMatchObject({ count: 1 });
  });

  it('touches nothing while the folder is that of another installation', async () => {
    await system.store.installation.claim('inst_1', 0);
    await system.blobs.label('inst_2');
    system.blobs.put('blob_orphan', Buffer.from('x'));
    await system.files.start();
    await system.clock.advance(3 * hour);
    expect(blobNames()).toEqual(['blob_orphan']);
    await system.blobs.label('inst_1');
    await system.clock.advance(hour);
    expect(blobNames()).toEqual([]);
  });

  it('C30: removes at once, and not into quarantine, what was deleted while the disk failed', async () => {
    await system.files.start();
    const { file } = await upload();
    const other = await upload();
    const failing = vi.spyOn(system.blobs, 'remove').mockRejectedValue(new Error('EIO'));
    await system.files.remove(one, file.id);
    await system.files.remove(one, other.file.id);
    await expect(system.files.get(one, file.id)).rejects.toMatchObject(missing);
    await system.clock.advance(hour);
    expect(blobNames()).toHaveLength(4);
    failing.mockRestore();
    await system.clock.advance(hour);
    expect(blobNames()).toEqual([]);
    expect(system.blobs.quarantined.size).toBe(0);
    expect(await system.store.files.removedBlobs(10)).toEqual([]);
  });

  it('goes on after a round that failed', async () => {
    await system.files.start();
    const list = system.blobs.list.bind(system.blobs);
    system.blobs.list = () => {
      throw new Error('the disk is away');
    };
    system.blobs.put('blob_orphan', Buffer.from('x'));
    await system.clock.advance(2 * hour);
    expect(system.blobs.stored.has('blob_orphan')).toBe(true);
    system.blobs.list = list;
    await system.clock.advance(hour);
    expect(system.blobs.stored.has('blob_orphan')).toBe(false);
  });

  it('may be stopped twice, before it started, and leaves no timer', async () => {
    await system.files.stop();
    await system.files.start();
    await system.files.start();
    expect(system.clock.pending).toBe(1);
    await system.files.stop();
    await system.files.stop();
    expect(system.clock.pending).toBe(0);
  });
});
