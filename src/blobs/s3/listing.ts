import { isBlobName } from '../names.ts';
import type { S3Client } from '../../s3/client.ts';
import { keyIn, listElements } from '../../s3/listing.ts';
import { findElements, findText } from '../../s3/xml.ts';
import { abortUpload } from '../../s3/upload.ts';

interface ListedObject {
  /** Key below the prefix. */
  key: string;
  bytes: number;
  /** Epoch milliseconds by the clock of this machine. */
  modifiedAt: number;
}

/** Lists objects whose keys start with `start`, all or the first `max`. */
export async function* listObjects(
  client: S3Client,
  start: string,
  max?: number,
): AsyncGenerator<ListedObject> {
  const more: Record<string, string> = max === undefined ? {} : { 'max-keys': String(max) };
  for await (const entry of listElements(client, start, 'Contents', more))
    yield toListed(client, entry, 'LastModified');
}

/**
 * Aborts up to 1,000 blob uploads that began at `before` (epoch milliseconds) or earlier, because the parts of an abandoned
 * upload are billed like objects. Returns the number.
 */
export async function abortLeftovers(client: S3Client, before: number): Promise<number> {
  const query = { uploads: '', prefix: client.objectName('') };
  const xml = (await client.send({ method: 'GET', query })).body.toString();
  let aborted = 0;
  for (const entry of findElements(xml, 'Upload')) {
    const { key, modifiedAt: startedAt } = toListed(client, entry, 'Initiated');
    const id = findText(entry, 'UploadId');
    if (id === undefined || !isBlobName(key.slice(3)) || !(startedAt <= before)) continue;
    await abortUpload(client, key, id);
    aborted++;
  }
  return aborted;
}

function toListed(client: S3Client, xml: string, time: string): ListedObject {
  const modifiedAt = Date.parse(findText(xml, time) ?? '') - client.aheadMs();
  const bytes = Number(findText(xml, 'Size'));
  return { key: keyIn(client, xml), bytes, modifiedAt };
}
