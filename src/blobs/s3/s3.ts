import type { Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { BlobError } from '../../core/blob-error.ts';
import type { Blobs } from '../blobs.ts';
import { isName, madeAt, blobKey } from '../names.ts';
import { createQuarantine } from './quarantine.ts';
import { createS3Client, type S3Client, type S3ClientOptions } from './client.ts';
import { abortLeftovers, listObjects } from './listing.ts';
import { getPiece, type Piece, pieceLength, piecesFrom, sizeOf } from './read.ts';
import { readRanges } from '../read-ranges.ts';
import { createUpload } from './write.ts';

export interface S3BlobsOptions extends S3ClientOptions {
  log: Log;
}

const hour = 3_600_000;
/** An upload that nobody can be writing any more. */
const abandonedMs = 24 * hour;
/** A store may not know yet what it has taken a moment ago: so often it is asked again. */
const rereads = 4;
/** So long a write that succeeded speaks for the next. */
const provenMs = 10_000;
/** Whoever asks whether the store works does not wait for as long as a request that needs it. */
const proofMs = 5_000;
/** A request costs more than to read so much for nothing. */
const gapBytes = 256 * 1024;
const probeKey = 'ping';
const labelKey = 'installation';

/**
 * Blobs as objects of a bucket, at the same places as on a disk, so that `aws s3 sync` moves them from one to the other:
 * `<prefix>/<two hex digits>/<name>`, what is set aside under `<prefix>/quarantine`. Nothing is kept on this machine.
 * @throws BlobError from `start`, with a hint, when the bucket cannot be used as it is configured
 */
export function createS3Blobs({ log, clock, ...options }: S3BlobsOptions): Blobs {
  const client = createS3Client({ clock, ...options });
  const { removeAside, ...aside } = createQuarantine(client);
  let timer: Timer | undefined;
  let provenAt = -Infinity;
  let proving: Promise<void> | undefined;

  /** What is missing though its name is young may only not be known yet (F39). */
  async function settled<T>(
    name: string,
    ask: (key: string) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const key = blobKey(name);
    for (let tried = 1; ; tried++) {
      const found = await ask(key);
      if (found !== undefined || tried > rereads || clock.now() - madeAt(name) > hour) return found;
      await client.pause(tried);
    }
  }

  const piece = async (name: string, offset: number, length: number): Promise<Piece> => {
    const found = await settled(name, (key) => getPiece(client, key, offset, length));
    return found ?? raise('missing', `The blob ${name} is missing.`);
  };

  const sizeIn = async (name: string): Promise<number | undefined> => {
    const size = await settled(name, (key) => sizeOf(client, key));
    // A bucket that is gone says the same to that question, and something else to this one.
    return size ?? (await getPiece(client, blobKey(name), 0, 1))?.size;
  };

  const exactly = async (name: string, offset: number, length: number): Promise<Buffer> => {
    const { bytes, size } = await piece(name, offset, length);
    return bytes.length === length ? bytes : cut(name, size, offset + length);
  };

  const slices: Blobs['slices'] = (name, places) =>
    readRanges(places, gapBytes, (offset, length) => exactly(name, offset, length));

  const prove = async () => {
    await client.send({ method: 'PUT', key: probeKey, body: Buffer.from('.'), withinMs: proofMs });
    provenAt = clock.monotonic();
  };

  const clearUploads = async () => {
    try {
      const aborted = await abortLeftovers(client, clock.now() - abandonedMs);
      if (aborted > 0) log.info({ aborted }, 'Aborted uploads that earlier processes had not finished.');
    } catch (error) {
      log.warn({ err: error }, 'Uploads that nobody finished could not be looked for.');
    }
  };

  const clearEveryHour = () => {
    timer = clock.after(hour, () => {
      void clearUploads();
      clearEveryHour();
    });
  };

  return {
    async start() {
      client.open();
      await tryOut(client);
      await clearUploads();
      timer?.cancel();
      clearEveryHour();
    },

    // Writers that are still open belong to their callers, who commit or abort them.
    async stop() {
      timer?.cancel();
      await client.close();
    },

    create: async (name) => createUpload(client, blobKey(name)),

    async read(name, { start = 0, end } = {}) {
      if (end !== undefined && end <= start) {
        const size = (await sizeIn(name)) ?? raise('missing', `The blob ${name} is missing.`);
        if (end > size) cut(name, size, end);
        return nothing();
      }
      const first = await piece(name, start, pieceLength(start, end));
      if (end !== undefined && end > first.size) cut(name, first.size, end);
      return piecesFrom(first.bytes, start, end ?? first.size, (...place) => exactly(name, ...place));
    },

    async slice(name, offset, length) {
      const [bytes] = await slices(name, [{ offset, length }]);
      return bytes!;
    },

    slices,

    size: sizeIn,

    async remove(name) {
      await client.remove(blobKey(name));
      await removeAside(name);
    },

    async *list() {
      for await (const { key, modifiedAt } of listObjects(client, '')) {
        const name = key.slice(3);
        if (isName(name) && key === blobKey(name)) yield { name, modifiedAt };
      }
    },

    ...aside,

    async readLabel() {
      const found = await getPiece(client, labelKey, 0, 100);
      return found?.bytes.toString().trim();
    },

    async label(installation) {
      await client.send({ method: 'PUT', key: labelKey, body: Buffer.from(`${installation}\n`) });
    },

    // Anybody may ask for /readyz, as often as he likes, and requests cost money.
    async ping() {
      if (clock.monotonic() - provenAt < provenMs) return;
      proving ??= prove().finally(() => (proving = undefined));
      await proving;
    },
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Each right that is needed, once: what is wrong is told at the start, not by the first upload. */
async function tryOut(client: S3Client): Promise<void> {
  await listObjects(client, '', 1).next();
  await client.send({ method: 'PUT', key: probeKey, body: Buffer.from('.') });
  try {
    await getPiece(client, probeKey, 0, 1);
  } finally {
    await client.remove(probeKey);
  }
}

function cut(name: string, size: number, expected: number): never {
  return raise('damaged', `The blob ${name} ends at byte ${size}; it was expected to reach ${expected}.`);
}

function raise(code: 'missing' | 'damaged', message: string): never {
  throw new BlobError(code, message, 'Restore the files from a backup.');
}
