import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { systemClock, systemRandom } from '../../src/base/system.ts';
import type { Blobs } from '../../src/blobs/blobs.ts';
import { createS3Client } from '../../src/s3/client.ts';
import { abortLeftovers } from '../../src/blobs/s3/listing.ts';
import { toBlobFault } from '../../src/blobs/s3/faults.ts';
import { createS3Blobs } from '../../src/blobs/s3/s3.ts';
import { createUpload } from '../../src/s3/upload.ts';
import type { BucketConfig } from '../../src/core/config.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';
import { collect, put } from './conformance.ts';

// The tests of blobs against real object stores, as far as they are installed here.

const cache = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url));
const [user, secret] = ['offpeak', 'offpeak-secret'];

interface Store {
  name: string;
  /** The program, or the reason for skipping. */
  find: () => string | { reason: string };
  args: (port: number, folder: string) => string[];
  env: Record<string, string>;
  /** True if the store lists uploads by key prefix. */
  listsUploads: boolean;
  /** False if the store accepts any key and signature. */
  checksSignatures?: boolean;
  /** True if the bucket is created by a request, not by a folder. */
  createsBucket?: boolean;
}

const stores: readonly Store[] = [
  {
    name: 'versitygw',
    find: () =>
      onPath('versitygw') ?? built('github.com/versity/versitygw/cmd/versitygw@v1.8.0', 'versitygw'),
    args: (port, folder) => ['--port', `127.0.0.1:${port}`, 'posix', folder],
    env: { ROOT_ACCESS_KEY: user, ROOT_SECRET_KEY: secret },
    listsUploads: true,
  },
  {
    name: 'moto',
    find: () => onPath('moto_server') ?? { reason: 'moto_server is not on the PATH' },
    args: (port) => ['-H', '127.0.0.1', '-p', String(port)],
    env: {},
    listsUploads: true,
    checksSignatures: false,
    createsBucket: true,
  },
  {
    // It aborts abandoned uploads by itself.
    name: 'minio',
    find: () => onPath('minio') ?? { reason: 'minio is not on the PATH' },
    args: (port, folder) => ['server', '--address', `127.0.0.1:${port}`, folder],
    env: { MINIO_ROOT_USER: user, MINIO_ROOT_PASSWORD: secret },
    listsUploads: false,
  },
];

function onPath(program: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}

function built(module: string, program: string): string | { reason: string } {
  const folder = join(cache, 'object-stores');
  if (!existsSync(join(folder, program))) {
    const go = onPath('go');
    if (go === undefined) return { reason: `neither ${program} nor go is on the PATH` };
    execFileSync('nice', [go, 'install', module], {
      env: { ...process.env, GOBIN: folder },
      stdio: 'ignore',
    });
  }
  return join(folder, program);
}

for (const store of stores) {
  const found = store.find();
  if (typeof found === 'string') describe(`files in ${store.name}`, () => storeTests(store, found));
  else console.warn(`SKIPPED, not tested with ${store.name}: ${found.reason}`);
}

function storeTests(
  { args, env, listsUploads, checksSignatures = true, createsBucket = false }: Store,
  program: string,
): void {
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-store-'));
  let bucket: BucketConfig;
  let blobs: Blobs;
  let stop: () => Promise<void>;
  const make = (more: Partial<BucketConfig> = {}, clock = systemClock) =>
    createS3Blobs({ bucket: { ...bucket, ...more }, clock, random: systemRandom, log: silent });

  beforeAll(async () => {
    const port = await freePort();
    mkdirSync(join(folder, 'files'));
    const child = spawn(program, args(port, folder), { env: { ...process.env, ...env }, stdio: 'ignore' });
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    stop = async () => {
      process.off('exit', kill);
      const ended = once(child, 'exit');
      kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    };
    const endpoint = `http://127.0.0.1:${port}`;
    bucket = {
      bucket: 'files',
      prefix: 'off/peak/',
      endpoint,
      region: 'us-east-1',
      pathStyle: true,
      keys: { kind: 'static', accessKey: user, secretKey: secret, sessionToken: undefined },
    };
    await until('the store answers', () => fetch(endpoint).then(Boolean, () => false));
    if (createsBucket) {
      const client = createS3Client({
        bucket,
        clock: systemClock,
        random: systemRandom,
        log: silent,
        toError: toBlobFault,
      });
      await client.send({ method: 'PUT' });
      await client.close();
    }
    blobs = make();
    await until('the bucket is there', () =>
      blobs.start().then(
        () => true,
        () => false,
      ),
    );
  });
  afterAll(async () => {
    await blobs?.stop();
    await stop?.();
  });

  const name = `blob_${'0'.repeat(30)}a7`;

  it('come back as they were written, in parts and by ranges', async () => {
    const bytes = randomBytes(20_000_000);
    const blocks = Array.from({ length: 20 }, (_, at) =>
      bytes.subarray(at * 1_000_000, (at + 1) * 1_000_000),
    );
    await put(blobs, name, ...blocks);
    await put(blobs, `${name}.index`);
    expect([await blobs.size(name), await blobs.size(`${name}.index`)]).toEqual([20_000_000, 0]);
    expect(bytes.equals(await collect(await blobs.read(name)))).toBe(true);
    expect(await collect(await blobs.read(`${name}.index`))).toHaveLength(0);
    const places = Array.from({ length: 100 }, (_, at) => ({ offset: at * 190_000, length: 3_000 }));
    const slices = await blobs.slices(name, places);
    for (const [at, { offset, length }] of places.entries())
      expect(bytes.subarray(offset, offset + length).equals(slices[at]!)).toBe(true);
    await expect(blobs.slice(name, 19_999_999, 2)).rejects.toMatchObject({ code: 'damaged' });
    await expect(blobs.slice(name, 30_000_000, 2)).rejects.toMatchObject({ code: 'damaged' });
  });

  it('are set aside, listed, brought back and removed', async () => {
    const listed = async (all: AsyncIterable<{ name: string }>) => {
      const names: string[] = [];
      for await (const each of all) names.push(each.name);
      return names.toSorted();
    };
    await blobs.quarantine(name, 1_234_567_890);
    for await (const each of blobs.listQuarantined()) expect(each).toEqual({ name, since: 1_234_567_890 });
    expect(await blobs.size(name)).toBeUndefined();
    expect(await listed(blobs.list())).toEqual([`${name}.index`]);
    await blobs.restore(name);
    expect(await listed(blobs.list())).toEqual([name, `${name}.index`]);
    for (const each of [name, name, `${name}.index`]) await blobs.remove(each);
    expect([await listed(blobs.list()), await listed(blobs.listQuarantined())]).toEqual([[], []]);
    await expect(blobs.read(name)).rejects.toMatchObject({ code: 'missing' });
    expect(await blobs.readLabel()).toBeUndefined();
    await blobs.label('inst_1');
    expect(await blobs.readLabel()).toBe('inst_1');
  });

  it('leave no parts behind when their upload is not finished', async () => {
    const client = createS3Client({
      bucket,
      clock: systemClock,
      random: systemRandom,
      log: silent,
      toError: toBlobFault,
    });
    const begun = async () => {
      const writer = createUpload(client, `a7/${name}`);
      await writer.write(randomBytes(9_000_000));
      return writer;
    };
    await (await begun()).discard();
    const anyTime = Date.now() + 1_000_000;
    expect(await abortLeftovers(client, anyTime)).toBe(0);
    const left = await begun();
    if (listsUploads) expect(await abortLeftovers(client, anyTime)).toBe(1);
    await left.discard();
    await client.close();
  });

  it('are refused with what is wrong', async () => {
    const keys = (accessKey: string, secretKey: string) =>
      ({ kind: 'static', accessKey, secretKey, sessionToken: undefined }) as const;
    const tries: [Blobs, string][] = [[make({ bucket: 'nosuch' }), 'There is no bucket nosuch']];
    if (checksSignatures)
      tries.push(
        [make({ keys: keys('other', secret) }), 'rejected the key other'],
        [make({ keys: keys(user, 'mistyped') }), 'the secret of the key offpeak is wrong'],
      );
    for (const [wrong, message] of tries) await expect(wrong.start()).rejects.toThrow(message);
  });

  it.each([-3_600_000, 3_600_000])(
    'are reached by a machine whose clock is wrong by %i ms',
    async (wrong) => {
      const late = make({}, { ...systemClock, now: () => systemClock.now() + wrong });
      await late.start();
      await put(late, name, Buffer.from('x'));
      for await (const { modifiedAt } of late.list())
        expect(Math.abs(modifiedAt - systemClock.now() - wrong)).toBeLessThan(60_000);
      await late.remove(name);
      await late.stop();
    },
  );
}
