import type { S3Client } from '../../../../s3/client.ts';
import { keyIn, listElements } from '../../../../s3/listing.ts';
import { getRange } from '../../../../s3/ranges.ts';
import { createUpload } from '../../../../s3/upload.ts';
import { findText } from '../../../../s3/xml.ts';
import { isJobId, isResultFile, type JobStorage, outputFolder } from './job-storage.ts';

export interface BucketStorageOptions {
  client: S3Client;
  /** Key prefix of the model's jobs below that of the client, such as `jobs/<model>/`. */
  prefix: string;
}

/** Jobs in a bucket, which runners on any machine reach with keys of their own. */
export function createBucketStorage({ client, prefix }: BucketStorageOptions): JobStorage {
  const keyOf = (job: string, name: string) => `${prefix}${job}/${name}`;

  async function* objects(job: string): AsyncGenerator<{ name: string; size: number }> {
    const start = keyOf(job, '');
    for await (const entry of listElements(client, start, 'Contents'))
      yield { name: keyIn(client, entry).slice(start.length), size: Number(findText(entry, 'Size')) };
  }

  return {
    address: (job, name) => `s3://${client.bucket}/${client.objectName(keyOf(job, name))}`,

    async list() {
      const ids: string[] = [];
      for await (const entry of listElements(client, prefix, 'CommonPrefixes', { delimiter: '/' }))
        ids.push(keyIn(client, entry, 'Prefix').slice(prefix.length, -1));
      return ids.filter(isJobId).toSorted();
    },

    async create(job, name) {
      const upload = createUpload(client, keyOf(job, name));
      return {
        write: (chunk) => upload.write(chunk),
        commit: () => upload.commit(),
        abort: () => upload.discard(),
      };
    },

    async write(job, name, text) {
      await client.send({ method: 'PUT', key: keyOf(job, name), body: Buffer.from(text) });
    },

    read: async (job, name, start, length) =>
      (await getRange(client, keyOf(job, name), start, length))?.bytes,

    async parts(job) {
      const found: { name: string; size: number }[] = [];
      for await (const each of objects(job))
        if (each.name.startsWith(`${outputFolder}/`) && isResultFile(each.name)) found.push(each);
      return found;
    },

    async remove(job) {
      for await (const { name } of objects(job)) await client.remove(keyOf(job, name));
    },
  };
}
