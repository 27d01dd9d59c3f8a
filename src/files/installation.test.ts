import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { createMemoryBlobs } from '../../test/support/memory-blobs.ts';
import { createIds } from '../base/ids.ts';
import { silent } from '../base/log.ts';
import { systemRandom } from '../base/system.ts';
import type { StoredFile } from '../core/file.ts';
import { createMemoryStore } from '../../test/support/memory-store.ts';
import { createInstallation } from './installation.ts';

const clock = createManualClock();
const ids = createIds(clock, systemRandom);
const open = () => ({ store: createMemoryStore({ clock }), blobs: createMemoryBlobs() });
type Pair = ReturnType<typeof open>;

const begin = ({ store, blobs }: Pair) =>
  createInstallation({ store, blobs, clock, ids, log: silent, folder: '/data/blobs' }).start();

const marks = async ({ store, blobs }: Pair) => [await store.installation.id(), await blobs.readLabel()];

/** A file whose row and blob are there, or one of the two. */
async function addFile({ store, blobs }: Pair, what: 'both' | 'row' | 'blob' = 'both') {
  const file: StoredFile = {
    id: ids.next('file-'),
    orgId: 'org_1',
    keyId: null,
    purpose: 'batch',
    filename: 'a.jsonl',
    bytes: 1,
    blobId: ids.next('blob_'),
    sha256: '',
    requests: 1,
    endpoint: null,
    warnings: [],
    createdAt: 0,
    expiresAt: null,
  };
  if (what !== 'blob') await store.files.insert(file, undefined, 0);
  if (what !== 'row') blobs.put(file.blobId, Buffer.from('x'));
}

let pair: Pair;
beforeEach(async () => {
  pair = open();
  await pair.store.start();
});

const refusal = (found: RegExp) => ({
  code: 'mismatch',
  message: expect.stringMatching(found),
  hint: expect.stringContaining('write the word adopt into /data/blobs/installation'),
});

describe('a database and a folder', () => {
  it('that are both new bear one id from then on', async () => {
    await begin(pair);
    const [id, label] = await marks(pair);
    expect(id).toMatch(/^inst_[0-9a-f]{32}$/);
    expect(label).toBe(id);
    await addFile(pair, 'blob');
    await begin(pair);
    expect(await marks(pair)).toEqual([id, id]);
  });

  it('that are started for the first time by several processes bear one id', async () => {
    await Promise.all([begin(pair), begin(pair), begin(pair)]);
    const [id, label] = await marks(pair);
    expect(label).toBe(id);
  });

  it('from before the ids are taken for one installation when a file is in both', async () => {
    await addFile(pair);
    await addFile(pair, 'row');
    await addFile(pair, 'blob');
    await begin(pair);
    const [id, label] = await marks(pair);
    expect(label).toBe(id);
  });

  it('that were cut off between the two marks are taken up', async () => {
    await pair.store.installation.claim('inst_1', 0);
    await begin(pair);
    expect(await marks(pair)).toEqual(['inst_1', 'inst_1']);
  });

  it('that has a backup from before the ids put back is recognised by its files', async () => {
    await pair.blobs.label('inst_1');
    await addFile(pair);
    await begin(pair);
    expect(await marks(pair)).toEqual(['inst_1', 'inst_1']);
  });

  it('of two installations refuse to start', async () => {
    await pair.store.installation.claim('inst_1', 0);
    await pair.blobs.label('inst_2');
    await addFile(pair);
    await expect(begin(pair)).rejects.toMatchObject(refusal(/inst_1, the folder of inst_2/));
    expect(await marks(pair)).toEqual(['inst_1', 'inst_2']);
  });

  it('of which the database is new refuse to start', async () => {
    await pair.blobs.label('inst_2');
    await addFile(pair, 'blob');
    await expect(begin(pair)).rejects.toMatchObject(
      refusal(/folder is of installation inst_2, the database is new/),
    );
  });

  it('without ids refuse to start when the database has none of the files', async () => {
    await addFile(pair, 'blob');
    await expect(begin(pair)).rejects.toMatchObject(refusal(/has none of the files/));
    await addFile(pair, 'row');
    await expect(begin(pair)).rejects.toMatchObject(refusal(/has none of the files/));
    expect(await marks(pair)).toEqual([undefined, undefined]);
  });

  it('refuse to start when the folder is empty and the database lists files', async () => {
    await addFile(pair, 'row');
    await expect(begin(pair)).rejects.toMatchObject(refusal(/the folder has none: is its disk mounted/));
    await pair.store.installation.claim('inst_1', 0);
    await expect(begin(pair)).rejects.toMatchObject(refusal(/but the folder has none/));
  });

  it('are joined when an operator says so', async () => {
    await pair.store.installation.claim('inst_1', 0);
    await pair.blobs.label('adopt');
    await addFile(pair, 'blob');
    await begin(pair);
    expect(await marks(pair)).toEqual(['inst_1', 'inst_1']);
  });
});
