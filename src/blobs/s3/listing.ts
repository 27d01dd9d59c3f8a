import { isName } from '../names.ts';
import type { S3Client } from './client.ts';
import { elementsOf, textOf } from './xml.ts';
import { abortUpload } from './write.ts';

interface Listed {
  /** Below the prefix. */
  key: string;
  modifiedAt: number;
}

/** All objects whose keys begin so, page by page. */
export async function* listObjects(client: S3Client, begin: string, most?: number): AsyncGenerator<Listed> {
  const query: Record<string, string> = { 'list-type': '2', prefix: client.nameOf(begin) };
  if (most !== undefined) query['max-keys'] = String(most);
  for (;;) {
    const xml = (await client.send({ method: 'GET', query })).body.toString();
    for (const entry of elementsOf(xml, 'Contents')) yield keyed(client, entry, 'LastModified');
    const next = textOf(xml, 'NextContinuationToken');
    if (textOf(xml, 'IsTruncated') !== 'true' || next === undefined || most !== undefined) return;
    query['continuation-token'] = next;
  }
}

/**
 * Aborts uploads of blobs that were begun before that instant: those who began them are dead, and their parts cost as much
 * as objects do. Of more than a thousand, the rest is for the next time. Returns how many.
 */
export async function abortLeftovers(client: S3Client, before: number): Promise<number> {
  const query = { uploads: '', prefix: client.nameOf('') };
  const xml = (await client.send({ method: 'GET', query })).body.toString();
  let aborted = 0;
  for (const entry of elementsOf(xml, 'Upload')) {
    const { key, modifiedAt: begun } = keyed(client, entry, 'Initiated');
    const id = textOf(entry, 'UploadId');
    if (id === undefined || !isName(key.slice(3)) || !(begun <= before)) continue;
    await abortUpload(client, key, id);
    aborted++;
  }
  return aborted;
}

function keyed(client: S3Client, xml: string, time: string): Listed {
  const key = textOf(xml, 'Key') ?? '';
  return { key: key.slice(client.nameOf('').length), modifiedAt: Date.parse(textOf(xml, time) ?? '') };
}
