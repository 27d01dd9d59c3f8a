import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { openRaw, type RawConnection } from './support/raw-http.ts';
import { type Running, startServer, testLimits } from './support/start-server.ts';

// An answer that comes before the end of the body reaches a client that sends on.

let clock: ManualClock;
let app: Running;
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
  // As any client that reads after it has sent all: the server's end does not end its own side.
  raw.socket.allowHalfOpen = connection === 'close';
  raw.write(
    `POST /v1/files HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\nAuthorization: Bearer ${key}\r\nContent-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n${chunk(form)}`,
  );
  return raw;
}

/** Sends so many pieces, and resolves when all have left. */
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

/** Whether the server takes nothing any more. */
async function isCut(connection: RawConnection): Promise<boolean> {
  await send(connection, 1);
  return connection.socket.destroyed;
}

const tooLarge = (testLimits.bytesPerBatch / 100_000) * 10;

describe.each(['close', 'keep-alive'] as const)('with Connection: %s', (how) => {
  it('413: a client that reads only when it has sent ten times too much', async () => {
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
  ])('%s: who goes on sending may do so for 30 s', async (status, key) => {
    const raw = await upload(key(), how);
    await send(raw, status === '413' ? 30 : 1);
    await raw.until(`HTTP/1.1 ${status}`);
    for (let turn = 1; turn < 6; turn++) {
      await send(raw, 1);
      // Something else is answered only after what was sent before it has been read.
      await app.call('GET', '/healthz');
      await clock.advance(5_000);
      expect(raw.socket.destroyed).toBe(false);
    }
    await send(raw, 1);
    await app.call('GET', '/healthz');
    await clock.advance(5_000);
    await expect.poll(() => isCut(raw)).toBe(true);
  });

  it('who stops sending is let go after 5 s', async () => {
    const raw = await upload('nonsense', how);
    await raw.until('HTTP/1.1 401');
    await clock.advance(5_000);
    await clock.advance(5_000);
    await expect.poll(() => isCut(raw)).toBe(true);
  });
});
