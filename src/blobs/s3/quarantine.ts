import type { Blobs } from '../blobs.ts';
import { isBlobName, blobKey } from '../names.ts';
import type { S3Client } from '../../s3/client.ts';
import { listObjects } from './listing.ts';

/** Prefix of quarantined blobs. The key contains the start of the quarantine, because listings return no other metadata. */
const folder = 'quarantine/';

export type S3Quarantine = Pick<Blobs, 'quarantine' | 'restore' | 'listQuarantined'> & {
  /** Removes the quarantined blob of this name. */
  removeQuarantined: (name: string) => Promise<void>;
};

export function createS3Quarantine(client: S3Client): S3Quarantine {
  /** Copies an object, then removes the original. Does nothing if another process has moved it already. */
  async function move(from: string, to: string): Promise<void> {
    const headers = { 'x-amz-copy-source': `/${client.bucket}/${client.objectName(from)}` };
    const { code } = await client.send({ method: 'PUT', key: to, headers, accept: ['NoSuchKey'] });
    if (code === undefined) await client.remove(from);
  }

  async function* entries(name = '') {
    for await (const { key, modifiedAt } of listObjects(client, `${folder}${name}`)) {
      const [, blob = '', since] = /^([^/]+?)(?:\.(\d+))?$/.exec(key.slice(folder.length)) ?? [];
      if (isBlobName(blob) && (name === '' || blob === name))
        yield { key, name: blob, since: since === undefined ? modifiedAt : Number(since) };
    }
  }

  return {
    async quarantine(name, at) {
      await move(blobKey(name), `${folder}${name}.${at}`);
    },

    async restore(name) {
      const target = blobKey(name);
      for await (const { key } of entries(name)) await move(key, target);
    },

    async *listQuarantined() {
      for await (const { name, since } of entries()) yield { name, since };
    },

    async removeQuarantined(name) {
      for await (const { key } of entries(name)) await client.remove(key);
    },
  };
}
