import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { silent } from '../../src/base/log.ts';
import type { Blobs } from '../../src/blobs/blobs.ts';
import { cacheReads } from '../../src/blobs/read-cache.ts';
import { createS3Blobs } from '../../src/blobs/s3/s3.ts';
import type { StaticKeys } from '../../src/core/bucket-keys.ts';
import type { BucketConfig } from '../../src/core/config.ts';
import { accessKey, secretKey, startObjectStore } from '../support/object-store.ts';
import type { ObjectStore } from '../support/object-store.ts';
import { blobsConformance, collect, name, pattern, put } from './conformance.ts';

const hour = 3_600_000;
const part = 8 * 1024 * 1024;
const prefix = 'off/peak/';
const key = `${prefix}a7/${name}`;
const random = { bytes: randomBytes, float: () => 1 };

/** Clock that records pauses and skips them; an hourly timer fires only when the test calls it. */
let clock: Clock & { pauses: number[]; elapsed: number; hourly: (() => void) | undefined };
const keysWith = (changed: Partial<StaticKeys>): StaticKeys => ({
  kind: 'static',
  accessKey,
  secretKey,
  sessionToken: undefined,
  ...changed,
});
let store: ObjectStore;
const made: Blobs[] = [];

beforeAll(async () => {
  store = await startObjectStore();
});
afterAll(async () => {
  for (const blobs of made) await blobs.stop();
  await store.close();
});
beforeEach(() => {
  store.objects.clear();
  store.uploads.clear();
  store.requests.length = 0;
  store.fault = () => undefined;
  store.maxPage = 1000;
  store.ranges = 'partial';
  store.skewed = { status: 403, code: 'RequestTimeTooSkewed' };
  const began = Date.now();
  store.now = () => clock.now();
  store.sessionToken = undefined;
  clock = {
    pauses: [],
    elapsed: 0,
    hourly: undefined,
    now: () => began + clock.elapsed,
    monotonic: () => clock.elapsed,
    arrival: () => clock.elapsed,
    after(ms, fn) {
      if (ms >= hour) {
        clock.hourly = fn;
        return { cancel: () => (clock.hourly = undefined) };
      }
      clock.pauses.push(ms);
      clock.elapsed += ms;
      const pending = setImmediate(fn);
      return { cancel: () => clearImmediate(pending) };
    },
  };
});

function make(
  bucket: Partial<BucketConfig> = {},
  timeouts?: Parameters<typeof createS3Blobs>[0]['timeouts'],
) {
  const own = { bucket: { ...store.config, ...bucket }, clock, random, log: silent };
  const blobs = createS3Blobs({ ...own, ...(timeouts && { timeouts }) });
  made.push(blobs);
  return blobs;
}

async function open(): Promise<Blobs> {
  const blobs = make();
  await blobs.start();
  store.requests.length = 0;
  return blobs;
}

/** Fails the first `times` requests that match. */
function failing(fits: RegExp, fault: ReturnType<ObjectStore['fault']>, times = Infinity): void {
  let left = times;
  store.fault = (asked) => (fits.test(asked) && left-- > 0 ? fault : undefined);
}

const keys = () => [...store.objects.keys()].map((each) => each.slice(prefix.length));
const asked = (fits: RegExp) => store.requests.filter((each) => fits.test(each));

const cached = (blobs: Blobs) => cacheReads(blobs, { limitBytes: 8 * 1024 * 1024, clock });

const place = {
  make,
  open,
  // Every /readyz overwrites this object; it is not a blob.
  kept: () => keys().filter((each) => each !== 'ping'),
  leave: (at: string, text: string) =>
    void store.objects.set(prefix + at, { body: Buffer.from(text), modifiedAt: Date.now() }),
  cut(at: string, length: number) {
    const object = store.objects.get(prefix + at)!;
    object.body = object.body.subarray(0, length);
  },
  date: (at: string, modifiedAt: number) => void (store.objects.get(prefix + at)!.modifiedAt = modifiedAt),
};

blobsConformance('blobs in a bucket', () => place);
blobsConformance('blobs in a bucket with a cache', () => ({
  ...place,
  make: () => cached(make()),
  open: async () => cached(await open()),
}));

describe('an upload', () => {
  test('of one part is one request, a larger one is sent in parts, and only a complete one exists', async () => {
    const blobs = await open();
    await put(blobs, name, pattern(1000));
    expect(store.requests).toEqual([`PUT ${key}`]);
    const bytes = pattern(2 * part + 1000);
    const writer = await blobs.create(name);
    for (let at = 0; at < bytes.length; at += 1_000_000)
      await writer.write(bytes.subarray(at, at + 1_000_000));
    expect(await blobs.size(name)).toBe(1000);
    await writer.commit();
    expect(bytes.equals(store.objects.get(key)!.body)).toBe(true);
    expect(asked(/partNumber/)).toHaveLength(3);
    expect(bytes.equals(await collect(await blobs.read(name)))).toBe(true);
    expect(store.uploads.size).toBe(0);
  });

  test('holds at most two parts in memory: the third waits for the first', async () => {
    const blobs = await open();
    failing(/partNumber=1/, 'hang');
    const writer = await blobs.create(name);
    await writer.write(pattern(part));
    let isTaken = false;
    const second = writer.write(pattern(part)).then(() => (isTaken = true));
    while (asked(/partNumber=1/).length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect([isTaken, asked(/partNumber=2/), writer.bufferedBytes]).toEqual([false, [], 2 * part]);
    const refused = expect(second).rejects.toMatchObject({ code: 'unavailable' });
    await blobs.stop();
    await refused;
    const before = store.requests.length;
    await expect(blobs.remove(name)).rejects.toMatchObject({ code: 'unavailable' });
    expect(store.requests.slice(before), 'nobody would close another connection').toEqual([]);
    await blobs.start();
    expect(await blobs.size(name)).toBeUndefined();
  });

  test('that is aborted or fails leaves no parts', async () => {
    const blobs = await open();
    const writer = await blobs.create(name);
    await writer.write(pattern(part + 4));
    await writer.abort();
    failing(/partNumber=2/, { status: 403, code: 'AccessDenied' });
    await expect(put(blobs, name, pattern(part + 4))).rejects.toMatchObject({ code: 'unavailable' });
    expect([store.uploads.size, store.objects.size]).toEqual([0, 0]);
  });

  test('F38: that fails tries once to remove its parts, then reports the error', async () => {
    const blobs = await open();
    store.fault = (request) => {
      if (request.startsWith('DELETE')) return { status: 503, code: 'SlowDown' };
      return request.includes('partNumber=2') ? { status: 403, code: 'AccessDenied' } : undefined;
    };
    await expect(put(blobs, name, pattern(part + 4))).rejects.toThrow('lacks permissions');
    expect(asked(/^DELETE/)).toHaveLength(1);
  });

  test('F38: of a dead process is aborted a day later, at a start and every hour', async () => {
    const now = clock.now();
    const leave = (id: string, of: string, begun: number) =>
      void store.uploads.set(id, { key: of, begun, parts: new Map() });
    leave('dead', key, now - 25 * hour);
    leave('alive', key, now - 23 * hour);
    leave('foreign', `${prefix}notes`, now - 25 * hour);
    const blobs = await open();
    expect([...store.uploads.keys()]).toEqual(['alive', 'foreign']);
    clock.elapsed += 2 * hour;
    const hourly = clock.hourly!;
    clock.hourly = undefined;
    hourly();
    while (store.uploads.has('alive')) await new Promise((resolve) => setImmediate(resolve));
    expect(clock.hourly).toBeDefined();
    await blobs.stop();
    expect(clock.hourly).toBeUndefined();
  });
});

describe('F38: a store that fails', () => {
  const passing = [
    { status: 503, code: 'SlowDown' },
    { status: 500, code: 'InternalError' },
    { status: 400, code: 'RequestTimeout' },
    'reset',
    'lose answer',
    'late',
  ] as const;
  const bytes = pattern(part + 4);
  const steps = [/^POST.*uploads/, /^PUT.*partNumber=1/, /^POST.*uploadId/, /^PUT [^?]*$/];

  /** Makes each step fail `times` times, then succeed. */
  function failingAtEach(fault: ReturnType<ObjectStore['fault']>, times: number): void {
    const left = steps.map(() => times);
    store.fault = (request) => {
      const step = steps.findIndex((fits) => fits.test(request));
      return step >= 0 && left[step]!-- > 0 ? fault : undefined;
    };
  }

  test.each(passing)('with %j is retried with back-off, and nothing is lost', async (fault) => {
    const blobs = await open();
    failingAtEach(fault, 3);
    await put(blobs, name, bytes);
    // The completion has taken place by now, so no step is left to fail.
    const completions = fault === 'lose answer' ? 1 : 3;
    const pauses = [200, 400, 800];
    const expected = [...pauses, ...pauses, ...pauses.slice(0, completions)];
    expect(clock.pauses).toEqual(expected);
    failingAtEach(fault, 3);
    await blobs.label('inst_1');
    failingAtEach(fault, 1);
    await blobs.quarantine(name, 1);
    failingAtEach(fault, 1);
    await blobs.restore(name);
    failing(/^(GET|HEAD)/, fault === 'late' ? 'reset' : fault, 3);
    clock.pauses.length = 0;
    expect(bytes.equals(await collect(await blobs.read(name)))).toBe(true);
    expect(clock.pauses).toEqual(pauses);
    expect(await blobs.readLabel()).toBe('inst_1');
  });

  test('at every retry is unavailable, and nothing hangs', async () => {
    const blobs = await open();
    await put(blobs, name, pattern(8));
    failing(/./, { status: 500, code: 'InternalError' });
    await expect(blobs.read(name)).rejects.toMatchObject({
      name: 'BlobError',
      code: 'unavailable',
      message: expect.stringContaining('answered 500 InternalError: No & no.'),
    });
    expect(store.requests.filter((each) => each.startsWith('GET'))).toHaveLength(6);
    await expect(blobs.size(name)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(blobs.ping()).rejects.toMatchObject({ code: 'unavailable' });
    await expect(put(blobs, name, pattern(8))).rejects.toMatchObject({ code: 'unavailable' });
    const impatient = make(
      {},
      {
        connectMs: 1000,
        headersMs: 1,
        writeHeadersMs: 1,
        idleMs: 1,
        totalMs: 0,
      },
    );
    failing(/./, 'hang');
    await expect(impatient.read(name)).rejects.toThrow('did not answer in time');
  });

  test('because it is overloaded is waited for up to a minute', async () => {
    const blobs = await open();
    failing(/^PUT/, { status: 503, code: 'SlowDown' });
    clock.elapsed = 0;
    await expect(put(blobs, name, pattern(8))).rejects.toMatchObject({ code: 'unavailable' });
    expect(clock.elapsed).toBeGreaterThanOrEqual(60_000);
    expect(clock.elapsed).toBeLessThan(66_000);
    failing(/^PUT/, { status: 503, code: 'SlowDown' }, 12);
    await put(blobs, name, pattern(8));
    expect(await blobs.size(name)).toBe(8);
  });

  test('by losing a part rejects the upload, and no blob exists', async () => {
    const blobs = await open();
    const writer = await blobs.create(name);
    await writer.write(pattern(part + 4));
    store.fault = (request) => {
      if (request.startsWith('POST')) for (const { parts } of store.uploads.values()) parts.delete(1);
      return undefined;
    };
    await expect(writer.commit()).rejects.toMatchObject({ code: 'unavailable' });
    expect(await blobs.size(name)).toBeUndefined();
    expect(store.uploads.size).toBe(0);
  });

  test('by losing an upload is an error, even where an earlier object exists', async () => {
    const blobs = await open();
    await put(blobs, name, pattern(8));
    failing(/^POST.*uploadId/, { status: 404, code: 'NoSuchUpload' });
    await expect(put(blobs, name, pattern(part + 4))).rejects.toMatchObject({ code: 'unavailable' });
  });

  test.each([
    { status: 507, code: 'NoRoom' },
    { status: 403, code: 'QuotaExceeded' },
  ])('by being full says so (F36): %j', async (fault) => {
    const blobs = await open();
    failing(/^PUT/, fault);
    const full = { code: 'insufficient_storage', status: 507 };
    await expect(put(blobs, name, pattern(8))).rejects.toMatchObject(full);
    await expect(put(blobs, name, pattern(part + 4))).rejects.toMatchObject(full);
    await expect(blobs.ping()).rejects.toMatchObject(full);
    expect([keys(), store.uploads.size]).toEqual([[], 0]);
  });
});

describe('F39: an eventually consistent store', () => {
  const young = () => `blob_${clock.now().toString(16).padStart(12, '0')}${'7'.repeat(20)}`;
  const stale = { status: 404, code: 'NoSuchKey' };

  test('is asked again for a new blob', async () => {
    const blobs = await open();
    const fresh = young();
    await put(blobs, fresh, pattern(8));
    failing(/^GET/, stale, 2);
    expect(pattern(8).equals(await collect(await blobs.read(fresh)))).toBe(true);
    failing(/^GET/, stale, 2);
    expect(pattern(8).equals(await blobs.slice(fresh, 0, 8))).toBe(true);
    failing(/^HEAD/, stale, 2);
    expect(await blobs.size(fresh)).toBe(8);
    expect(clock.pauses).toEqual([200, 400, 200, 400, 200, 400]);
  });

  test('reports an old blob as missing at once, and a new one after a few tries', async () => {
    const blobs = await open();
    await expect(blobs.read(name)).rejects.toMatchObject({ code: 'missing' });
    expect(clock.pauses).toEqual([]);
    await expect(blobs.slice(young(), 0, 1)).rejects.toMatchObject({ code: 'missing' });
    expect(clock.pauses).toEqual([200, 400, 800, 1600]);
  });
});

describe('a store whose clock differs', () => {
  test.each([2 * hour, -2 * hour])(
    'by %i ms is asked with its own time, from its first answer on',
    async (ahead) => {
      store.now = () => clock.now() + ahead;
      const blobs = make();
      await blobs.start();
      store.requests.length = 0;
      await put(blobs, name, pattern(8));
      expect(await blobs.size(name)).toBe(8);
      expect(store.requests).toHaveLength(2);
      for await (const { modifiedAt } of blobs.list())
        expect(Math.abs(modifiedAt - clock.now())).toBeLessThan(2_000);
      store.now = () => clock.now();
      expect(await blobs.size(name)).toBe(8);
    },
  );

  test('is asked again with its own time, also where its refusal has no code of its own', async () => {
    store.skewed = { status: 400, code: 'AccessDenied' };
    store.now = () => clock.now() + 2 * hour;
    await make().start();
    expect(store.requests.filter((each) => each.startsWith('PUT'))).toHaveLength(1);
  });

  test('still removes only uploads that are a day old', async () => {
    const blobs = await open();
    const writer = await blobs.create(name);
    await writer.write(pattern(part + 4));
    store.now = () => clock.now() + 30 * hour;
    for (const upload of store.uploads.values()) upload.begun = store.now() - hour;
    await blobs.start();
    expect(store.uploads.size).toBe(1);
    for (const upload of store.uploads.values()) upload.begun = store.now() - 25 * hour;
    await blobs.start();
    expect(store.uploads.size).toBe(0);
    await writer.abort();
  });
});

test('a server that answers with a page for browsers is no S3 store', async () => {
  const server = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<!DOCTYPE html><html></html>'),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(make({ endpoint: `http://127.0.0.1:${port}` }).start()).rejects.toMatchObject({
    code: 'unavailable',
    message: `127.0.0.1:${port} is not an S3 store: it answered 200 with a page for browsers.`,
    hint: expect.stringContaining('Set s3.endpoint'),
  });
  server.closeAllConnections();
  server.close();
});

test('/readyz asks the store at most every 10 seconds, once for all callers', async () => {
  const blobs = await open();
  for (let n = 0; n < 3; n++) await Promise.all([blobs.ping(), blobs.ping()]);
  expect(store.requests).toEqual([`PUT ${prefix}ping`]);
  clock.elapsed += 10_000;
  failing(/^PUT/, { status: 403, code: 'AccessDenied' });
  await expect(blobs.ping()).rejects.toMatchObject({ code: 'unavailable' });
  await expect(blobs.ping()).rejects.toMatchObject({ code: 'unavailable' });
  expect(store.requests).toHaveLength(3);
});

test('ranges close together are one request, distant ones are separate', async () => {
  const blobs = await open();
  const bytes = pattern(4_000_000);
  await put(blobs, name, bytes);
  store.requests.length = 0;
  const places = [0, 700_000, 100_000, 3_000_000].map((offset) => ({ offset, length: 1000 }));
  const found = await blobs.slices(name, places);
  expect(found.every((each, at) => bytes.subarray(places[at]!.offset).indexOf(each) === 0)).toBe(true);
  expect(store.requests).toHaveLength(3);
});

test('ranges are read from a store that sends them with status 200', async () => {
  store.ranges = 'status 200';
  const blobs = await open();
  const bytes = pattern(2_500_000);
  await put(blobs, name, bytes);
  expect(bytes.equals(await collect(await blobs.read(name)))).toBe(true);
  expect(bytes.subarray(7, 17).equals(await blobs.slice(name, 7, 10))).toBe(true);
});

test('a listing of many pages contains each blob of the store once', async () => {
  const blobs = await open();
  const names = Array.from({ length: 7 }, (_, at) => `blob_${String(at).repeat(32)}`);
  for (const each of names) await put(blobs, each, pattern(4));
  store.objects.set(`${prefix}a8/${name}`, { body: Buffer.alloc(1), modifiedAt: 0 });
  store.objects.set('elsewhere', { body: Buffer.alloc(1), modifiedAt: 0 });
  store.maxPage = 3;
  const listed: string[] = [];
  for await (const each of blobs.list()) listed.push(each.name);
  expect(listed).toEqual(names);
  expect(store.requests.filter((each) => each.startsWith('GET'))).toHaveLength(3);
});

describe('a start', () => {
  test.each<[string, Partial<BucketConfig>, string, string]>([
    ['bucket', { bucket: 'filse' }, 'There is no bucket filse at 127.0.0.1', 'Create it'],
    [
      'key',
      { keys: keysWith({ accessKey: 'AKIAOTHER' }) },
      'rejected the key AKIAOTHER',
      'AWS_ACCESS_KEY_ID',
    ],
    [
      'secret',
      { keys: keysWith({ secretKey: 'x' }) },
      'the secret of the key AKIATEST is wrong',
      's3.secret_key',
    ],
    [
      'token',
      { keys: keysWith({ sessionToken: 'old' }) },
      'rejected the key AKIATEST (InvalidToken)',
      's3.secret_key',
    ],
    ['region', { region: 'us-east-1' }, 'is not in the region us-east-1', 'Set s3.region'],
  ])('with a wrong %s reports it', async (_, wrong, message, hint) => {
    await expect(make(wrong).start()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    });
  });

  test.each([
    [{ status: 403, code: 'RequestTimeTooSkewed' }, 'differ too much', 'NTP'],
    [
      { status: 403, code: 'AccessDenied' },
      'for the bucket files (AccessDenied: No & no).',
      'put and delete',
    ],
    [{ status: 301, code: 'PermanentRedirect' }, 'is not in the region', 's3.endpoint'],
  ])('that is refused with %j reports it', async (fault, message, hint) => {
    failing(/^PUT/, fault);
    await expect(make().start()).rejects.toMatchObject({
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    });
  });

  test('fails with the reason where no store listens', async () => {
    failing(/./, 'reset');
    await expect(make().start()).rejects.toMatchObject({
      message: expect.stringContaining('The object store cannot be reached: the connection to 127.0.0.1'),
      hint: expect.stringContaining('s3.endpoint'),
    });
  });

  test('is refused by a store that ignores ranges', async () => {
    store.ranges = 'ignored';
    await expect(make().start()).rejects.toThrow('does not support range requests');
    expect(keys()).toEqual([]);
  });

  test('that cannot read its probe leaves nothing', async () => {
    failing(/^GET .*ping/, { status: 403, code: 'AccessDenied' });
    await expect(make().start()).rejects.toThrow('lacks permissions');
    expect(keys()).toEqual([]);
  });

  test('continues if uploads cannot be listed', async () => {
    failing(/\?uploads/, { status: 501, code: 'NotImplemented' });
    await make().start();
  });
});

test('blobs of a missing bucket are unavailable, not missing', async () => {
  const blobs = await open();
  await put(blobs, name, pattern(8));
  failing(/./, { status: 404, code: 'NoSuchBucket' });
  await expect(blobs.read(name)).rejects.toMatchObject({ code: 'unavailable' });
  await expect(blobs.slice(name, 0, 8)).rejects.toMatchObject({ code: 'unavailable' });
  await expect(blobs.size(name)).rejects.toMatchObject({ code: 'unavailable' });
});
