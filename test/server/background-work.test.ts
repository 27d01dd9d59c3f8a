import { afterAll, beforeAll, expect, it } from 'vitest';
import { heavySlices } from '../../src/base/loop-slices.ts';
import { openRaw } from './support/raw-http.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

// Uploads, exports and long lists rest between their slices while a request to a model is in flight (attacks 5, 7 and 9).

let app: RunningServer;
beforeAll(async () => {
  app = await startServer();
});
afterAll(() => app.stop());

function rests(): boolean {
  let isCalled = false;
  heavySlices.afterRest(0, () => (isCalled = true));
  return !isCalled;
}
const isRunning = (count: number) => expect.poll(() => app.engine.stats().running).toBe(count);

it.each([false, true])(
  'rests for a chat completion with stream: %s, until its client leaves',
  async (stream) => {
    expect(rests()).toBe(false);
    const leaving = new AbortController();
    const asked = fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.keys.a}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content: '[[hang]]' }], stream }),
      signal: leaving.signal,
    });
    asked.catch(() => {});
    await isRunning(1);
    expect(rests()).toBe(true);
    leaving.abort();
    await expect.poll(rests).toBe(false);
  },
);

it('rests for a turn of a WebSocket, and not between turns', async () => {
  const Socket = WebSocket as unknown as new (url: string, options: object) => WebSocket;
  const headers = { authorization: `Bearer ${app.keys.a}` };
  const socket = new Socket(`${app.url.replace('http', 'ws')}/v1/responses`, { headers });
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  expect(rests()).toBe(false);
  socket.send(JSON.stringify({ type: 'response.create', model: 'tiny', input: '[[hang]]' }));
  await isRunning(1);
  expect(rests()).toBe(true);
  socket.close();
  await expect.poll(rests).toBe(false);
});

it('does not rest for other requests, however long they take', async () => {
  const connection = await openRaw(app.url);
  connection.write(
    `POST /v1/batches HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.a}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n`,
  );
  expect((await app.call('GET', '/v1/models')).status).toBe(200);
  expect(rests()).toBe(false);
  connection.socket.destroy();
});
