import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRaw, type RawConnection } from './support/raw-http.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

// The budget is twice the maximum body, 2,565,536 bytes of a batch; a single org may hold 2,565,536 bytes of it.

const limits = {
  bodyBytes: 1_000_000,
  bytesPerBatch: 2_000_000,
  requestsPerBatch: 100,
  bodyBytesInFlight: 1,
  connections: 1_000,
  connectionsPerAddress: 1_000,
  anonymousPerSecond: 1_000_000,
};

let app: RunningServer;
const opened: RawConnection[] = [];
beforeEach(async () => void (app = await startServer({ limits })));
afterEach(async () => {
  for (const { socket } of opened.splice(0)) socket.destroy();
  await app.stop();
});

/** Starts a body without ending it. Resolves when the server reads it. */
async function begin(length: string, key = app.keys.a): Promise<RawConnection> {
  const connection = await openRaw(app.url);
  opened.push(connection);
  connection.write(
    `POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n${length}\r\n\r\n`,
  );
  await connection.until('100 Continue');
  return connection;
}

const refusal = /HTTP\/1\.1 503 [^]*retry-after: 1\r\n[^]*"code":"server_overloaded"/;

describe('request bodies in memory', () => {
  it('are rejected by their content-length when there is no room, and small ones still fit', async () => {
    await begin('Content-Length: 1000000');
    await begin('Content-Length: 1000000');
    const third = await begin('Content-Length: 1000000');
    expect(await third.until('server_overloaded')).toMatch(refusal);
    const input = 'x'.repeat(500_000);
    const json = { model: 'vectors', input };
    expect((await app.call('POST', '/v1/embeddings', { json })).status).toBe(200);
    expect((await app.call('POST', '/v1/embeddings', { json, key: app.keys.b })).status).toBe(200);
  });

  it('are counted while they arrive when no length is declared', async () => {
    const all = await Promise.all([1, 2, 3].map(() => begin('Transfer-Encoding: chunked')));
    for (const connection of all) connection.write(`${(999_000).toString(16)}\r\n${' '.repeat(999_000)}\r\n`);
    const refused = await Promise.any(all.map((connection) => connection.until('server_overloaded')));
    expect(refused).toMatch(refusal);
  });

  it('are released when the client disconnects and when the request is answered', async () => {
    const json = { model: 'vectors', input: 'x'.repeat(900_000) };
    const good = async () => (await app.call('POST', '/v1/embeddings', { json })).status;
    for (let turn = 0; turn < 10; turn++) {
      const connections = [await begin('Content-Length: 1000000'), await begin('Content-Length: 1000000')];
      expect(await good()).toBe(503);
      for (const { socket } of connections) socket.destroy();
      await expect.poll(good).toBe(200);
    }
  });

  it('of uploads count by their buffered bytes, not by their length', async () => {
    const begun = async (line: string) => {
      const connection = await openRaw(app.url);
      opened.push(connection);
      const form = `--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${line}`;
      connection.write(
        `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.a}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1900000\r\n\r\n${form}`,
      );
      return connection;
    };
    // 9.5 MB in total, of which little is buffered.
    const flowing = await Promise.all(Array.from({ length: 5 }, () => begun('\n'.repeat(1_000))));
    const json = { model: 'vectors', input: 'x'.repeat(100_000) };
    expect((await app.call('POST', '/v1/embeddings', { json })).status).toBe(200);
    for (const { socket } of flowing) socket.destroy();
    // A line with 400,000 bytes so far takes a buffer of about 524,288.
    const lines = await Promise.all(Array.from({ length: 5 }, () => begun('x'.repeat(400_000))));
    expect(await Promise.any(lines.map((connection) => connection.until('server_overloaded')))).toMatch(
      refusal,
    );
  });
});
