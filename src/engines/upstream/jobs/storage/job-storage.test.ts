import { mkdtempSync, rmSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ObjectStore, startObjectStore } from '../../../../../test/support/object-store.ts';
import { silent } from '../../../../base/log.ts';
import { systemClock, systemRandom } from '../../../../base/system.ts';
import { createS3Client, type S3Client } from '../../../../s3/client.ts';
import { createBucketStorage } from './bucket-storage.ts';
import { createFolderStorage } from './folder-storage.ts';
import type { JobStorage } from './job-storage.ts';

const jobA = `job-${'a'.repeat(32)}`;
const jobB = `job-${'b'.repeat(32)}`;

/** Storage with a runner that writes to it. */
interface Subject {
  storage: JobStorage;
  /** Writes a file of results as a runner does. */
  put: (job: string, name: string, text: string) => Promise<void>;
}

function conforms(subjectOf: () => Subject): void {
  it('keeps jobs with their files until they are removed', async () => {
    const { storage, put } = subjectOf();
    expect(await storage.list()).toEqual([]);
    const writer = await storage.create(jobB, 'input.jsonl');
    await writer.write(Buffer.from('one\n'));
    await writer.write(Buffer.from('two\n'));
    expect(await storage.read(jobB, 'input.jsonl', 0, 100)).toBeUndefined();
    await writer.commit();
    await storage.write(jobA, 'job.json', '{}');
    expect(await storage.list()).toEqual([jobA, jobB]);
    expect((await storage.read(jobB, 'input.jsonl', 0, 100))?.toString()).toBe('one\ntwo\n');
    expect((await storage.read(jobB, 'input.jsonl', 4, 2))?.toString()).toBe('tw');
    expect((await storage.read(jobB, 'input.jsonl', 8, 10))?.toString()).toBe('');
    await storage.write(jobA, 'job.json', '{"a":1}');
    expect((await storage.read(jobA, 'job.json', 0, 100))?.toString()).toBe('{"a":1}');
    await put(jobA, 'output/part.jsonl', 'x');
    await storage.remove(jobA);
    await storage.remove(jobA);
    expect(await storage.list()).toEqual([jobB]);
    expect(await storage.read(jobA, 'job.json', 0, 1)).toBeUndefined();
    await storage.remove(jobB);
  });

  it('lists the results that a runner writes', async () => {
    const { storage, put } = subjectOf();
    await storage.write(jobA, 'job.json', '{}');
    expect(await storage.parts(jobA)).toEqual([]);
    await put(jobA, 'output/b.jsonl', 'four');
    await put(jobA, 'output/deep/a.json', 'eleven');
    await put(jobA, 'output/_SUCCESS', '');
    await put(jobA, 'output/.c.jsonl.crc', '');
    const parts = (await storage.parts(jobA)).toSorted((a, b) => a.name.localeCompare(b.name));
    expect(parts).toEqual([
      { name: 'output/b.jsonl', size: 4 },
      { name: 'output/deep/a.json', size: 6 },
    ]);
    await storage.remove(jobA);
  });

  it('leaves nothing of a file that is given up', async () => {
    const { storage } = subjectOf();
    const writer = await storage.create(jobA, 'input.jsonl');
    await writer.write(Buffer.from('one\n'));
    await writer.abort();
    expect(await storage.list()).toEqual([]);
  });
}

describe('in a folder', () => {
  const root = mkdtempSync(join(tmpdir(), 'offpeak-storage-'));
  const folder = join(root, 'jobs', 'big');
  const storage = createFolderStorage({ folder, mode: 0o700 });
  afterAll(() => rmSync(root, { recursive: true }));

  conforms(() => ({
    storage,
    async put(job, name, text) {
      const { mkdir, writeFile } = await import('node:fs/promises');
      const path = storage.address(job, name);
      await mkdir(join(path, '..'), { recursive: true });
      await writeFile(path, text);
    },
  }));

  it('has a private folder for results when the input is written', async () => {
    await storage.write(jobA, 'job.json', '{}');
    const stats = await stat(storage.address(jobA, 'output'));
    expect([stats.isDirectory(), stats.mode & 0o777]).toEqual([true, 0o700]);
    expect(storage.address(jobA, 'output')).toBe(join(folder, jobA, 'output'));
  });
});

describe('in a bucket', () => {
  let store: ObjectStore;
  let client: S3Client;
  let storage: JobStorage;

  beforeAll(async () => {
    store = await startObjectStore();
    const toError = ({ message }: { message: string }) => new Error(message);
    client = createS3Client({
      bucket: store.config,
      clock: systemClock,
      random: systemRandom,
      log: silent,
      toError,
    });
    storage = createBucketStorage({ client, prefix: 'jobs/big/' });
  });
  afterAll(async () => {
    await client.close();
    await store.close();
  });

  conforms(() => ({
    storage,
    async put(job, name, text) {
      store.objects.set(`off/peak/jobs/big/${job}/${name}`, { body: Buffer.from(text), modifiedAt: 0 });
    },
  }));

  it('has addresses with the bucket and its prefix', () => {
    expect(storage.address(jobA, 'output')).toBe(`s3://files/off/peak/jobs/big/${jobA}/output`);
  });

  it('sees only the jobs of its model', async () => {
    const other = createBucketStorage({ client, prefix: 'jobs/bigger/' });
    await other.write(jobA, 'job.json', '{}');
    expect([await storage.list(), await other.list()]).toEqual([[], [jobA]]);
  });

  it('lists more parts than a page has', async () => {
    store.maxPage = 2;
    for (const at of [1, 2, 3, 4, 5])
      store.objects.set(`off/peak/jobs/big/${jobB}/output/${at}.jsonl`, {
        body: Buffer.from('x'),
        modifiedAt: 0,
      });
    expect(await storage.parts(jobB)).toHaveLength(5);
  });
});
