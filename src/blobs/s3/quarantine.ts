import type { Blobs } from '../blobs.ts';
import { isName, blobKey } from '../names.ts';
import type { S3Client } from './client.ts';
import { listObjects } from './listing.ts';

/** A blob is copied there and then removed where it was; since when is in the key, because listings tell nothing else. */
const folder = 'quarantine/';

export type Quarantine = Pick<Blobs, 'quarantine' | 'restore' | 'listQuarantined'> & {
  /** Removes what was set aside under this name. */
  removeAside: (name: string) => Promise<void>;
};

export function createQuarantine(client: S3Client): Quarantine {
  /** Of two processes that do the same with a blob, one comes too late. */
  async function move(from: string, to: string): Promise<void> {
    const headers = { 'x-amz-copy-source': `/${client.bucket}/${client.nameOf(from)}` };
    const { code } = await client.send({ method: 'PUT', key: to, headers, may: ['NoSuchKey'] });
    if (code === undefined) await client.remove(from);
  }

  async function* entries(name = '') {
    for await (const { key, modifiedAt } of listObjects(client, `${folder}${name}`)) {
      const [, found = '', since] = /^([^/]+?)(?:\.(\d+))?$/.exec(key.slice(folder.length)) ?? [];
      if (isName(found) && (name === '' || found === name))
        yield { key, name: found, since: since === undefined ? modifiedAt : Number(since) };
    }
  }

  return {
    async quarantine(name, at) {
      await move(blobKey(name), `${folder}${name}.${at}`);
    },

    async restore(name) {
      const place = blobKey(name);
      for await (const { key } of entries(name)) await move(key, place);
    },

    async *listQuarantined() {
      for await (const { name, since } of entries()) yield { name, since };
    },

    async removeAside(name) {
      for await (const { key } of entries(name)) await client.remove(key);
    },
  };
}
