import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silent } from '../../src/base/log.ts';
import { systemClock, systemRandom } from '../../src/base/system.ts';
import type { Blobs } from '../../src/blobs/blobs.ts';
import { abortLeftovers } from '../../src/blobs/s3/listing.ts';
import { createS3Blobs } from '../../src/blobs/s3/s3.ts';
import { createUpload } from '../../src/s3/upload.ts';
import type { BucketConfig } from '../../src/core/config.ts';
import { until } from '../support/until.ts';
import { collect, put } from './conformance.ts';
import {
  clientOf,
  type RealStore,
  realStores,
  type RunningStore,
  secret,
  startRealStore,
  user,
} from './real-stores.ts';

// The tests of blobs against real object stores, as far as they are installed here.

for (const store of realStores) {
  const found = await store.find();
  if (typeof found === 'string') describe(`files in ${store.name}`, () => storeTests(store, found));
  else console.warn(`SKIPPED, not tested with ${store.name}: ${found.reason}`);
}

const usualRefusals = { key: 'rejected the key other', secret: `the secret of the key ${user} is wrong` };

function storeTests(store: RealStore, program: string): void {
  const { listsUploads = true, refusals = usualRefusals } = store;
  let running: RunningStore;
  let bucket: BucketConfig;
  let blobs: Blobs;
  const make = (more: Partial<BucketConfig> = {}, clock = systemClock) =>
    createS3Blobs({ bucket: { ...bucket, ...more }, clock, random: systemRandom, log: silent });

  beforeAll(async () => {
    running = await startRealStore(store, program);
    bucket = running.bucket;
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
    await running?.stop();
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
    const client = clientOf(bucket);
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
    if (refusals)
      tries.push(
        [make({ keys: keys('other', secret) }), refusals.key],
        [make({ keys: keys(user, 'mistyped') }), refusals.secret],
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
