// Upload without validation: receives and parses the form, hashes the file and writes it durably.
import { createHash } from 'node:crypto';
import multipart from '@fastify/multipart';
import fastify from 'fastify';
import { silent } from '../../src/base/log.ts';
import { createDiskBlobs } from '../../src/blobs/disk/disk.ts';
import { readForm } from '../../src/server/request/read-form.ts';
import { answerFigures } from './measured.ts';

const blobs = createDiskBlobs({ folder: process.argv[2] ?? '', log: silent });
await blobs.start();
let uploads = 0;

async function store(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const writer = await blobs.create(`blob_${String(uploads++).padStart(32, '0')}`);
  const hash = createHash('sha256');
  for await (const chunk of bytes) {
    hash.update(chunk);
    await writer.write(chunk);
  }
  await writer.commit();
  return hash.digest('hex');
}

const app = fastify();
await app.register(multipart);
app.route({
  method: 'POST',
  url: '/v1/files',
  async handler(request) {
    for await (const part of readForm(request))
      if (part.kind === 'file') return { sha256: await store(part.bytes) };
    return {};
  },
});
const url = await app.listen({ host: '127.0.0.1', port: 0 });
answerFigures();
console.log(JSON.stringify({ url }));
