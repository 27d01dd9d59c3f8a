import { rmSync, statSync, writeFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { fieldsOf, parseOrUndefined } from '../../base/fields.ts';
import type { S3Client } from '../../s3/client.ts';
import { getRange, type ObjectRange } from '../../s3/ranges.ts';
import { garbageCollector } from '../shared/collect-garbage.ts';
import { CliError } from '../shared/exit-codes.ts';
import { type ObjectDeps, openBucket } from './open-bucket.ts';
import { type ObjectUrl, parseObjectUrl } from './object-url.ts';

const rangeBytes = 8_388_608;

/** Version of the object that a copy has. */
interface Version {
  etag: string;
  size: number;
}

/** First bytes of an object. @throws CliError if it is missing */
export async function readObjectHead(cli: ObjectDeps, url: string, length: number): Promise<Buffer> {
  const object = parseObjectUrl(url);
  const client = await openBucket(cli, object.bucket);
  try {
    return (await readRange(client, object, 0, length)).bytes;
  } finally {
    await client.close();
  }
}

/**
 * Copies an object to a file, by ranges, each of which is repeated after a broken connection. The copy of an earlier attempt is
 * continued if the object is the same.
 */
export async function fetchObject(
  cli: ObjectDeps,
  url: string,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const object = parseObjectUrl(url);
  const client = await openBucket(cli, object.bucket);
  const collectGarbage = garbageCollector(cli);
  const stop = () => void client.close();
  signal.addEventListener('abort', stop);
  try {
    const first = await readRange(client, object, 0, 1);
    const version = { etag: first.etag ?? '', size: first.size };
    const kept = await keptBytes(path, version);
    if (kept === 0) rmSync(path, { force: true });
    writeFileSync(versionPath(path), JSON.stringify(version), { mode: 0o600 });
    const file = await open(path, 'a', 0o600);
    try {
      for (let at = kept; at < version.size;) {
        signal.throwIfAborted();
        const { bytes, etag = '' } = await readRange(
          client,
          object,
          at,
          Math.min(rangeBytes, version.size - at),
        );
        if (etag !== version.etag || bytes.length === 0)
          throw new CliError(`${url} changed while it was read.`, 'Run the command again.');
        await file.appendFile(bytes);
        at += bytes.length;
        collectGarbage();
      }
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    signal.removeEventListener('abort', stop);
    await client.close();
  }
}

export function removeCopy(path: string): void {
  for (const file of [path, versionPath(path)]) rmSync(file, { force: true });
}

const versionPath = (path: string) => `${path}.version`;

/** Bytes of an earlier copy of the same version. */
async function keptBytes(path: string, { etag, size }: Version): Promise<number> {
  const earlier = fieldsOf(parseOrUndefined(await readFile(versionPath(path), 'utf8').catch(() => '')));
  const length = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return earlier['etag'] === etag && earlier['size'] === size && length <= size ? length : 0;
}

async function readRange(
  client: S3Client,
  { key, url }: ObjectUrl,
  start: number,
  length: number,
): Promise<ObjectRange> {
  const range = await getRange(client, key, start, length);
  if (range === undefined) throw new CliError(`There is no object ${url}.`, 'Check the bucket and the key.');
  return range;
}
