import { execFile, spawnSync } from 'node:child_process';
import http from 'node:http';
import { Readable } from 'node:stream';
import OpenAI, { toFile } from 'openai';
import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { openRaw, type RawConnection } from './support/raw-http.ts';
import { type RunningServer, startServer, testLimits } from './support/start-server.ts';

// An early answer reaches a client that is still sending its body.

let clock: ManualClock;
let app: RunningServer;
beforeEach(async () => {
  clock = createManualClock();
  app = await startServer({ clock });
});
afterEach(() => app.stop());

const form = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
const piece = chunk('\n'.repeat(100_000));

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

async function upload(key: string, connection: 'close' | 'keep-alive'): Promise<RawConnection> {
  const raw = await openRaw(app.url);
  // Like clients that read only after sending everything: allows a half-open connection.
  raw.socket.allowHalfOpen = connection === 'close';
  raw.write(
    `POST /v1/files HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\nAuthorization: Bearer ${key}\r\nContent-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n${chunk(form)}`,
  );
  return raw;
}

/** Sends this many pieces; resolves when all were flushed. */
async function send({ socket }: RawConnection, pieces: number): Promise<void> {
  for (let n = 0; n < pieces && !socket.destroyed; n++)
    await new Promise<void>((resolve) => {
      socket.once('close', resolve);
      socket.write(piece, () => {
        socket.off('close', resolve);
        resolve();
      });
    });
}

/** True if the server no longer accepts data. */
async function isCut(connection: RawConnection): Promise<boolean> {
  await send(connection, 1);
  return connection.socket.destroyed;
}

const tooLarge = (testLimits.bytesPerBatch / 100_000) * 10;

/** Yields a form ten times the maximum. */
function* parts(): Generator<Buffer> {
  yield Buffer.from(form);
  for (let n = 0; n < tooLarge; n++) yield Buffer.alloc(100_000, '\n');
  yield Buffer.from('\r\n--b--\r\n');
}

/** Clients that send a body of unknown length, with `Connection: close` if they can; each resolves with the status. */
const senders: Record<string, (url: string, headers: Record<string, string>) => Promise<number>> = {
  'node:http': (url, headers) =>
    new Promise((resolve, reject) => {
      const sending = http.request(url, { method: 'POST', headers, agent: false });
      sending.on('error', reject).on('response', (answer) => {
        answer.resume().once('end', () => resolve(answer.statusCode ?? 0));
      });
      Readable.from(parts()).pipe(sending);
    }),
  async undici(url, headers) {
    const body = Readable.from(parts());
    const answer = await request(url, { method: 'POST', headers, body, reset: true });
    await answer.body.dump();
    return answer.statusCode;
  },
  async fetch(url, headers) {
    const body = ReadableStream.from(parts());
    const answer = await fetch(url, { method: 'POST', headers, body, duplex: 'half' });
    await answer.text();
    return answer.status;
  },
  async 'the official SDK'(url, { authorization }) {
    const client = new OpenAI({
      apiKey: String(authorization).slice('Bearer '.length),
      baseURL: url.slice(0, -'/files'.length),
      maxRetries: 0,
    });
    const file = await toFile(Buffer.alloc(tooLarge * 100_000, '\n'), 'large.jsonl');
    const error = await client.files.create({ purpose: 'batch', file }).catch((thrown: unknown) => thrown);
    return (error as { status: number }).status;
  },
  curl: (url, headers) =>
    new Promise((resolve, reject) => {
      const lines = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
      const values = [
        '-s',
        '-o',
        '/dev/null',
        '-w',
        '%{http_code}',
        '-H',
        'Connection: close',
        '-X',
        'POST',
        '-T',
        '-',
        ...lines,
        url,
      ];
      const child = execFile('curl', values, (error, out) => (error ? reject(error) : resolve(Number(out))));
      Readable.from(parts()).pipe(child.stdin!.on('error', () => {}));
    }),
};
const hasCurl = spawnSync('curl', ['--version']).status === 0;

describe.each(Object.entries(senders))('a client that sends ten times the maximum: %s', (name, sendAll) => {
  it.skipIf(name === 'curl' && !hasCurl)('reads 413 and 401, with six requests in parallel', async () => {
    const type = { 'content-type': 'multipart/form-data; boundary=b' };
    for (const [key, status] of [[app.keys.a, 413] as const, ['nonsense', 401] as const]) {
      const headers = { ...type, authorization: `Bearer ${key}` };
      const all = Array.from({ length: 6 }, () => sendAll(`${app.url}/v1/files`, headers));
      expect(await Promise.all(all)).toEqual(Array.from({ length: 6 }, () => status));
    }
  });
});

describe.each(['close', 'keep-alive'] as const)('with Connection: %s', (how) => {
  it('413: reaches a client that reads only after sending everything', async () => {
    const raw = await upload(app.keys.a, how);
    raw.socket.pause();
    await send(raw, tooLarge);
    raw.write('0\r\n\r\n');
    expect(raw.socket.destroyed).toBe(false);
    raw.socket.resume();
    expect(await raw.until('payload_too_large')).toMatch(/^HTTP\/1.1 413 /);
    if (how === 'close') raw.socket.end();
    else {
      raw.write(`GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(await raw.closed).toContain('HTTP/1.1 200');
    }
  });

  it.each([
    ['401', () => 'nonsense'],
    ['413', () => app.keys.a],
  ])('%s: lets a client keep sending for up to 30 s', async (status, key) => {
    const raw = await upload(key(), how);
    await send(raw, status === '413' ? 30 : 1);
    await raw.until(`HTTP/1.1 ${status}`);
    for (let turn = 1; turn < 6; turn++) {
      await send(raw, 1);
      // Another answer shows that the server has read what was sent before.
      await app.call('GET', '/healthz');
      await clock.advance(5_000);
      expect(raw.socket.destroyed).toBe(false);
    }
    await send(raw, 1);
    await app.call('GET', '/healthz');
    await clock.advance(5_000);
    await expect.poll(() => isCut(raw)).toBe(true);
  });

  it('disconnects a client 5 s after it stops sending', async () => {
    const raw = await upload('nonsense', how);
    await raw.until('HTTP/1.1 401');
    await clock.advance(5_000);
    await clock.advance(5_000);
    await expect.poll(() => isCut(raw)).toBe(true);
  });
});
