import { rmSync, statSync, writeFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import type { S3Client } from '../../s3/client.ts';
import { getRange } from '../../s3/ranges.ts';
import {
  abortUpload,
  beginUpload,
  createUpload,
  type S3UploadOptions,
  usualPartBytes,
} from '../../s3/upload.ts';
import { garbageCollector } from '../shared/collect-garbage.ts';
import { CliError } from '../shared/exit-codes.ts';
import { type ObjectDeps, openBucket } from './open-bucket.ts';
import { parseObjectUrl } from './object-url.ts';

/** Parts of a multipart upload, at most. */
const maxParts = 10_000;
const pieceBytes = 1_048_576;

/** Calls `use` with the bucket of an object, which is closed at the end or when the signal aborts. */
async function withBucket<T>(
  cli: ObjectDeps,
  url: string,
  signal: AbortSignal | undefined,
  use: (client: S3Client, key: string) => Promise<T>,
): Promise<T> {
  const { bucket, key } = parseObjectUrl(url);
  const client = await openBucket(cli, bucket);
  const stop = () => void client.close();
  signal?.addEventListener('abort', stop);
  try {
    return await use(client, key);
  } finally {
    signal?.removeEventListener('abort', stop);
    await client.close();
  }
}

/**
 * Checks that an object can be written, before a run that costs money. Nothing is stored.
 * @throws CliError for an existing object without `force`
 */
export function checkWritable(cli: ObjectDeps, url: string, force: boolean): Promise<void> {
  return withBucket(cli, url, undefined, async (client, key) => {
    if (!force && (await getRange(client, key, 0, 1)) !== undefined)
      throw new CliError(
        `${url} already exists.`,
        'Pass --force to overwrite it, or choose another output with -o.',
      );
    await abortUpload(client, key, await beginUpload(client, key));
  });
}

/** Stores bytes as an object, which exists only when all have arrived. */
export function storeBytes(
  cli: ObjectDeps,
  url: string,
  bytes: AsyncIterable<Uint8Array>,
  { signal, ...options }: S3UploadOptions & { signal?: AbortSignal } = {},
): Promise<void> {
  return withBucket(cli, url, signal, async (client, key) => {
    const collectGarbage = garbageCollector(cli);
    const upload = createUpload(client, key, options);
    try {
      let written = 0;
      for await (const chunk of bytes) {
        signal?.throwIfAborted();
        await upload.write(chunk);
        written += chunk.length;
        if (written < usualPartBytes) continue;
        collectGarbage();
        written = 0;
      }
      await upload.commit();
    } catch (error) {
      // After Ctrl-C the client is closed.
      client.open();
      await upload.discard();
      throw error;
    }
  });
}

/** Stores a file as an object. What an earlier attempt has left in the bucket, because it was killed, is removed. */
export async function storeFile(
  cli: ObjectDeps,
  url: string,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const note = `${path}.upload`;
  const earlier = await readFile(note, 'utf8').catch(() => undefined);
  if (earlier !== undefined)
    // The rules of the bucket may have removed it.
    await withBucket(cli, url, signal, (client, key) => abortUpload(client, key, earlier)).catch(() => {});
  const { size } = statSync(path);
  await storeBytes(cli, url, readPieces(path), {
    partBytes: Math.max(usualPartBytes, Math.ceil(size / maxParts / pieceBytes) * pieceBytes),
    onBegin: (id) => writeFileSync(note, id, { mode: 0o600 }),
    signal,
  });
  rmSync(note, { force: true });
}

/** Removes an object that an earlier run has left. */
export function removeObject(cli: ObjectDeps, url: string): Promise<void> {
  return withBucket(cli, url, undefined, async (client, key) => {
    if ((await getRange(client, key, 0, 1)) !== undefined) await client.remove(key);
  });
}

/** Bytes of a file, in a buffer that is reused. */
async function* readPieces(path: string): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(pieceBytes);
  const file = await open(path);
  try {
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
