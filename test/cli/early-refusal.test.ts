import { mkdtempSync, openAsBlob, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemFetch } from '../../src/base/system.ts';
import { createClient } from '../../src/client/client.ts';

it('an upload that is refused before it is complete is an error, and nothing else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-early-'));
  const path = join(folder, 'in.jsonl');
  writeFileSync(path, Buffer.alloc(8 * 2 ** 20));
  const escaped: unknown[] = [];
  const onEscaped = (error: unknown) => escaped.push(error);
  process.on('unhandledRejection', onEscaped);
  const closed = Promise.withResolvers<void>();
  const server = createServer((_request, response) => {
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end('{"error":{"code":"invalid_api_key","message":"Unknown API key."}}');
  });
  server.on('connection', (socket) => socket.on('close', closed.resolve));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'sk-x', fetch: systemFetch });
    const content = await openAsBlob(path);
    const upload = client.files.upload({ content, filename: 'in.jsonl' });
    await expect(upload).rejects.toMatchObject({ status: 401, message: 'Unknown API key.' });
    await closed.promise;
    // Reads of the file that were under way have come back when later ones have.
    for (let reads = 0; reads < 20; reads++) await content.slice(0, 2 ** 20).arrayBuffer();
    expect(escaped).toEqual([]);
  } finally {
    process.off('unhandledRejection', onEscaped);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  }
});
