import { afterAll, beforeAll, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { openRaw } from './support/raw-http.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

let clock: ManualClock;
let app: RunningServer;
beforeAll(async () => {
  clock = createManualClock();
  app = await startServer({ clock });
});
afterAll(() => app.stop());

const head = (path: string, key: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n`;

it('F54, C17: cuts off slow bodies, but not a body at the minimum rate, and other clients are unaffected', async () => {
  const paths = ['/v1/chat/completions', '/v1/batches', '/v1/responses', '/v1/messages'];
  const trickles = await Promise.all(Array.from({ length: 60 }, () => openRaw(app.url)));
  for (const [n, raw] of trickles.entries()) raw.write(head(paths[n % paths.length]!, app.keys.a));
  const honest = await openRaw(app.url);
  const body = JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: 'x'.repeat(400_000) }] });
  honest.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.b}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  // More than 30,000 bytes in 30 s, and one byte of each of the others.
  for (let sent = 0; sent < body.length; sent += 60_000) {
    honest.write(body.slice(sent, sent + 60_000));
    for (const raw of trickles) if (!raw.socket.destroyed) raw.write(' ');
    // The answer to a later request shows that the bytes have arrived.
    expect((await app.call('GET', '/v1/models', { key: app.keys.b })).status).toBe(200);
    await clock.advance(10_000);
  }
  expect(await honest.until('\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /);
  await expect.poll(() => trickles.filter(({ socket }) => !socket.destroyed).length).toBe(0);
});
