import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { systemFetch } from '../../src/base/system.ts';
import { createClient } from '../../src/client/client.ts';

const size = 32 * 2 ** 20;

it('an upload releases the memory of sent data', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  /** Collects garbage and returns the bytes of array buffers. Repeated, because some memory is released in the background. */
  const held = async () => {
    for (let round = 0; round < 4; round++) {
      collect();
      await new Promise((resolve) => setImmediate(resolve));
    }
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  const most = Promise.withResolvers<() => void>();
  const server = createServer((request, response) => {
    let received = 0;
    request.on('data', (chunk: Buffer) => {
      const before = received;
      received += chunk.length;
      if (before >= size * 0.75 || received < size * 0.75) return;
      request.pause();
      most.resolve(() => request.resume());
    });
    request.on('end', () => response.end('{"id":"file-1"}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const content = new Blob(Array.from({ length: 32 }, () => new Uint8Array(size / 32)));
    const { port } = server.address() as AddressInfo;
    const client = createClient({
      baseUrl: `http://127.0.0.1:${port}`,
      apiKey: undefined,
      fetch: systemFetch,
    });
    const before = await held();
    const uploaded = client.files.upload({ content, filename: 'in.jsonl' });
    const goOn = await most.promise;
    const kept = (await held()) - before;
    goOn();
    expect(await uploaded).toEqual({ id: 'file-1' });
    expect(kept).toBeLessThan(size / 2);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
