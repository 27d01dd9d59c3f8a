import type { Timer } from '../../base/clock.ts';
import { lostBlob } from '../../core/blob-error.ts';
import type { Blobs } from '../blobs.ts';
import { isBlobName, createdAt, blobKey } from '../names.ts';
import { createS3Quarantine } from './quarantine.ts';
import { createS3Client, type S3Client, type S3ClientOptions } from '../../s3/client.ts';
import { toBlobFault } from './faults.ts';
import { createWriter } from '../writer.ts';
import { abortLeftovers, listObjects } from './listing.ts';
import { getRange, type ObjectRange, rangeLength, streamRanges, getSize } from '../../s3/ranges.ts';
import { readRanges } from '../read-ranges.ts';
import { createUpload } from '../../s3/upload.ts';

const hourMs = 3_600_000;
/** Age at which an upload counts as abandoned. */
const abandonedMs = 24 * hourMs;
/** Retries for a new blob that an eventually consistent store may not show yet. */
const maxRereads = 4;
/** Time for which a successful probe is reused: `/readyz` is public, and requests cost money. */
const probeValidMs = 10_000;
/** Shorter than the timeout of other requests, because `ping` has a caller who waits. */
const probeTimeoutMs = 5_000;
/** Reading a gap of this size costs less than a second request. */
const gapBytes = 256 * 1024;
const probeKey = 'ping';
const probeBody = Buffer.from('ok');
const labelKey = 'installation';

/**
 * Stores blobs as objects of a bucket, `<prefix>/<two hex digits>/<name>`. Keys equal the paths on a disk, so that `aws s3 sync`
 * can migrate between the two. Nothing is stored on this machine.
 * @throws BlobError from `start` if the bucket cannot be used as configured
 */
export function createS3Blobs({ log, clock, ...options }: Omit<S3ClientOptions, 'toError'>): Blobs {
  const client = createS3Client({ clock, log, toError: toBlobFault, ...options });
  const { removeQuarantined, ...quarantine } = createS3Quarantine(client);
  let timer: Timer | undefined;
  let probedAt = -Infinity;
  let probing: Promise<void> | undefined;

  /** Retries while a new blob is not found, for eventually consistent stores (F39). */
  async function find<T>(name: string, get: (key: string) => Promise<T | undefined>): Promise<T | undefined> {
    const key = blobKey(name);
    for (let tries = 1; ; tries++) {
      const found = await get(key);
      if (found !== undefined || tries > maxRereads || clock.now() - createdAt(name) > hourMs) return found;
      await client.pause(tries);
    }
  }

  const findRange = async (name: string, offset: number, length: number): Promise<ObjectRange> => {
    const range = await find(name, (key) => getRange(client, key, offset, length));
    return range ?? fail('missing', `The blob ${name} is missing.`);
  };

  const findSize = async (name: string): Promise<number | undefined> => {
    const size = await find(name, (key) => getSize(client, key));
    // HEAD has no body to tell a missing bucket from a missing object; GET does.
    return size ?? (await getRange(client, blobKey(name), 0, 1))?.size;
  };

  const readExactly = async (name: string, offset: number, length: number): Promise<Buffer> => {
    const { bytes, size } = await findRange(name, offset, length);
    return bytes.length === length ? bytes : failTruncated(name, size, offset + length);
  };

  const slices: Blobs['slices'] = (name, ranges) =>
    readRanges(ranges, gapBytes, (offset, length) => readExactly(name, offset, length));

  const probe = async () => {
    await client.send({ method: 'PUT', key: probeKey, body: probeBody, timeoutMs: probeTimeoutMs });
    probedAt = clock.monotonic();
  };

  const abortAbandoned = async () => {
    try {
      const aborted = await abortLeftovers(client, clock.now() - abandonedMs);
      if (aborted > 0) log.info({ aborted }, 'Aborted abandoned uploads.');
    } catch (error) {
      log.warn({ err: error }, 'Cannot look for abandoned uploads.');
    }
  };

  const abortEveryHour = () => {
    timer = clock.after(hourMs, () => {
      void abortAbandoned();
      abortEveryHour();
    });
  };

  return {
    async start() {
      client.open();
      await checkAccess(client);
      await abortAbandoned();
      timer?.cancel();
      abortEveryHour();
    },

    // Callers commit or abort their open writers.
    async stop() {
      timer?.cancel();
      await client.close();
    },

    create: async (name) => createWriter(createUpload(client, blobKey(name))),

    async read(name, { start = 0, end } = {}) {
      if (end !== undefined && end <= start) {
        const size = (await findSize(name)) ?? fail('missing', `The blob ${name} is missing.`);
        if (end > size) failTruncated(name, size, end);
        return emptyStream();
      }
      const first = await findRange(name, start, rangeLength(start, end));
      if (end !== undefined && end > first.size) failTruncated(name, first.size, end);
      return streamRanges(first.bytes, start, end ?? first.size, (...range) => readExactly(name, ...range));
    },

    async slice(name, offset, length) {
      const [bytes] = await slices(name, [{ offset, length }]);
      return bytes!;
    },

    slices,

    size: findSize,

    async remove(name) {
      await client.remove(blobKey(name));
      await removeQuarantined(name);
    },

    async *list(folder) {
      for await (const { key, ...found } of listObjects(client, folder === undefined ? '' : `${folder}/`)) {
        const name = key.slice(3);
        if (isBlobName(name) && key === blobKey(name)) yield { name, ...found };
      }
    },

    ...quarantine,

    async readLabel() {
      const found = await getRange(client, labelKey, 0, 100);
      return found?.bytes.toString().trim();
    },

    async label(installation) {
      await client.send({ method: 'PUT', key: labelKey, body: Buffer.from(`${installation}\n`) });
    },

    async ping() {
      if (clock.monotonic() - probedAt < probeValidMs) return;
      probing ??= probe().finally(() => (probing = undefined));
      await probing;
    },
  };
}

async function* emptyStream(): AsyncGenerator<Uint8Array> {}

/** Uses each needed permission once, and a range, so that start-up reports what is missing. */
async function checkAccess(client: S3Client): Promise<void> {
  await listObjects(client, '', 1).next();
  await client.send({ method: 'PUT', key: probeKey, body: probeBody });
  try {
    await getRange(client, probeKey, 1, 1);
  } finally {
    await client.remove(probeKey);
  }
}

function failTruncated(name: string, size: number, expected: number): never {
  return fail('damaged', `The blob ${name} ends at byte ${size}, before byte ${expected}.`);
}

function fail(code: 'missing' | 'damaged', message: string): never {
  throw lostBlob(code, message);
}
