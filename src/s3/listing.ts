import type { S3Client } from './client.ts';
import { findElements, findText } from './xml.ts';

/**
 * Yields the elements of a listing of the keys that start with `start`, as XML: `Contents` for objects, `CommonPrefixes` for folders.
 * @param more further parameters; with `max-keys` the first page alone
 */
export async function* listElements(
  client: S3Client,
  start: string,
  element: 'Contents' | 'CommonPrefixes',
  more: Record<string, string> = {},
): AsyncGenerator<string> {
  const query: Record<string, string> = { 'list-type': '2', prefix: client.objectName(start), ...more };
  for (;;) {
    const xml = (await client.send({ method: 'GET', query })).body.toString();
    yield* findElements(xml, element);
    const next = findText(xml, 'NextContinuationToken');
    if (findText(xml, 'IsTruncated') !== 'true' || next === undefined || 'max-keys' in more) return;
    query['continuation-token'] = next;
  }
}

/** Key in a listed element, below the prefix of the client. */
export function keyIn(client: S3Client, element: string, tag: 'Key' | 'Prefix' = 'Key'): string {
  return (findText(element, tag) ?? '').slice(client.objectName('').length);
}
