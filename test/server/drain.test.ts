import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createManualClock } from '../support/manual-clock.ts';
import { openRaw } from './support/raw-http.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

const ask = (content: string, more: object = {}) =>
  JSON.stringify({ model: 'tiny', messages: [{ role: 'user', content }], ...more });

async function begin(app: RunningServer, content: string, more: object = {}) {
  const connection = await openRaw(app.url);
  const body = ask(content, more);
  const before = app.engine.stats().running;
  connection.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.a}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await expect.poll(() => app.engine.stats().running).toBe(before + 1);
  return connection;
}

async function idle(app: RunningServer) {
  const connection = await openRaw(app.url);
  connection.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await connection.until('"status":"ok"');
  return connection;
}

describe('stop', () => {
  it('finishes requests in flight, rejects new connections, closes idle ones and fails readiness', async () => {
    const clock = createManualClock();
    const app = await startServer({ clock });
    const busy = await begin(app, '[[delay 5000]] [[tokens 2]]');
    const quiet = await idle(app);
    const stopping = app.server.stop();
    expect(app.server.stop()).toBe(stopping);
    await quiet.closed;
    await expect(fetch(`${app.url}/healthz`)).rejects.toThrow();
    busy.write('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n');
    await clock.advance(5_000);
    const text = await busy.closed;
    expect(text).toContain('word word');
    expect(text.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 503']);
    expect(text).toContain('"reason":"draining"');
    await stopping;
    await app.stop();
  });

  it('503: rejects a new request on an open connection while another still runs', async () => {
    const clock = createManualClock();
    const app = await startServer({ clock });
    const first = await begin(app, '[[delay 5000]]');
    first.write(`GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.a}\r\n\r\n`);
    void app.server.stop();
    await clock.advance(5_000);
    const text = await first.closed;
    expect(text).toMatch(/HTTP\/1.1 200[\s\S]*HTTP\/1.1 503/);
    expect(text).toContain('"code":"shutting_down"');
    expect(text).toMatch(/retry-after: 1/i);
    await app.stop();
    expect(app.logged.find(({ fields }) => fields['status'] === 503)).toMatchObject({
      level: 'warn',
      message: 'request refused',
      fields: { code: 'shutting_down' },
    });
  });

  it('aborts what is left after the drain time: an error for a request, an error event for a stream', async () => {
    const clock = createManualClock();
    const app = await startServer({ clock, drainMs: 25_000 });
    const plain = await begin(app, '[[hang]]');
    const stream = await begin(app, '[[hang]]', { stream: true });
    await clock.advance(15_000);
    await stream.until('\n: keep-alive');
    const stopping = app.server.stop();
    await clock.advance(24_999);
    expect(app.engine.stats().running).toBe(2);
    await clock.advance(1);
    expect(await plain.closed).toMatch(/^HTTP\/1.1 503 [\s\S]*"code":"shutting_down"/);
    const text = await stream.closed;
    expect(text).toMatch(/data: \{"error":\{"code":"shutting_down"/);
    expect(text).not.toContain('[DONE]');
    await stopping;
    await app.stop();
  });

  it.each([
    [
      'an upload',
      '/v1/files',
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n{"cu',
    ],
    ['a JSON body', '/v1/batches', 'application/json', '{"endpoint"'],
  ])(
    '503: rejects %s that is still arriving after the drain time, and stores nothing',
    async (_, path, type, begun) => {
      const clock = createManualClock();
      const app = await startServer({ clock, drainMs: 1_000 });
      const late = await openRaw(app.url);
      const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.a}\r\nContent-Type: ${type}\r\nExpect: 100-continue\r\nContent-Length: 10000\r\n\r\n`;
      late.write(head);
      await late.until('100 Continue');
      late.write(begun);
      const stopping = app.server.stop();
      await clock.advance(1_000);
      const text = await late.until('"code":"shutting_down"');
      expect(text).toMatch(/HTTP\/1.1 503 [^]*connection: close/i);
      expect(text).toMatch(/retry-after: 1/i);
      await clock.advance(1_000);
      await stopping;
      await late.closed;
      const left = async () => {
        const entries = await readdir(app.folder, { recursive: true, withFileTypes: true });
        return entries.filter((entry) => entry.isFile());
      };
      await expect.poll(left).toEqual([]);
      await app.stop();
    },
  );

  it('does not wait for a client that never reads its answer', async () => {
    const clock = createManualClock();
    const app = await startServer({ clock, drainMs: 1_000 });
    const stuck = await openRaw(app.url);
    stuck.write(
      `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.a}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 100\r\n\r\n`,
    );
    await expect
      .poll(() => new Promise((resolve) => setImmediate(() => resolve(stuck.socket.bytesWritten))))
      .toBeGreaterThan(0);
    const stopping = app.server.stop();
    await clock.advance(1_000);
    await clock.advance(1_000);
    await stuck.closed;
    await stopping;
    await app.stop();
  });

  it('is allowed before start, and prevents it', async () => {
    const app = await startServer();
    await app.stop();
    await expect(app.server.start()).rejects.toThrow(/stopped/);
  });
});

describe('a drain delay', () => {
  const models = (key: string) =>
    `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;

  it('fails readiness at once and serves on, one request per connection, until it is over', async () => {
    const clock = createManualClock();
    const app = await startServer({ clock, drainDelayMs: 5_000, drainMs: 1_000 });
    const kept = await idle(app);
    const stopping = app.server.stop();
    await clock.advance(4_999);
    const fresh = await openRaw(app.url);
    fresh.write('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n');
    const probe = await fresh.closed;
    expect(probe).toMatch(/^HTTP\/1.1 503 [^]*connection: close/i);
    expect(probe).toContain('"reason":"draining"');
    kept.write(models(app.keys.a));
    expect((await kept.closed).split('HTTP/1.1 ').at(-1)).toMatch(/^200 [^]*connection: close/i);
    const late = await begin(app, '[[delay 500]] [[tokens 2]]');
    await clock.advance(1);
    await expect(fetch(`${app.url}/healthz`)).rejects.toThrow();
    await clock.advance(500);
    expect(await late.closed).toMatch(/^HTTP\/1.1 200 [^]*word word/);
    await stopping;
    await app.stop();
  });

  it('does not hold up a server that never started, or a worker', async () => {
    const clock = createManualClock();
    const worker = await startServer({ clock, role: 'worker', drainDelayMs: 5_000 });
    await worker.server.stop();
    await worker.stop();
  });
});

describe('a worker', () => {
  it('answers probes, and says to all others where to go', async () => {
    const app = await startServer({ role: 'worker' });
    for (const path of ['/healthz', '/readyz']) expect((await app.call('GET', path)).status).toBe(200);
    for (const path of ['/v1/models', '/docs', '/console/', '/v1/admin/processes', '/openapi.json']) {
      const { status, json } = await app.call('GET', path);
      expect([path, status, json.error.message]).toEqual([
        path,
        404,
        'This process has the role worker and serves no requests. Use a process with the role api or all.',
      ]);
    }
    expect((await app.call('POST', '/v1/chat/completions', { json: {} })).status).toBe(404);
    await app.stop();
  });
});

describe('GET /readyz', () => {
  it('200 when healthy, 503 with the reason when not, also if the check fails', async () => {
    let state = async (): Promise<{ ok: boolean; reason?: string }> => ({ ok: true });
    const app = await startServer({ ready: () => state() });
    const probe = async () => {
      const { status, json } = await app.call('GET', '/readyz', { key: null });
      return [status, json.reason];
    };
    expect(await probe()).toEqual([200, null]);
    state = async () => ({ ok: false, reason: 'the database does not answer' });
    expect(await probe()).toEqual([503, 'the database does not answer']);
    state = () => Promise.reject(new Error('/var/lib/secret path'));
    expect(await probe()).toEqual([503, 'the check failed']);
    expect((await app.call('GET', '/healthz', { key: null })).json).toEqual({
      status: 'ok',
      version: '1.2.3',
    });
    await app.stop();
  });
});

describe('slow clients', () => {
  /** Maximum milliseconds until a stalled client is disconnected. */
  const cutWithinMs = 36_000;

  it.each([900_000, 20_000, 'chunked'])(
    'are cut off when their body is too slow, and not otherwise: %s',
    async (size) => {
      const clock = createManualClock();
      const app = await startServer({ clock });
      const length = size === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${size}`;
      const head = `POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.keys.a}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n${length}\r\n\r\n`;
      const trickle = await openRaw(app.url);
      const flow = await openRaw(app.url);
      for (const connection of [trickle, flow]) {
        connection.write(head);
        await connection.until('100 Continue');
      }
      await clock.advance(5_000);
      trickle.write(size === 'chunked' ? '1\r\n{\r\n' : '{');
      if (size === 900_000) {
        flow.write(' '.repeat(300_000));
        await expect.poll(() => flow.socket.writableLength).toBe(0);
        expect((await app.call('GET', '/healthz')).status).toBe(200);
      } else {
        const body = JSON.stringify({ model: 'vectors', input: 'x' });
        if (size === 'chunked') flow.write(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
        else flow.write(body.padEnd(Number(size)));
        await flow.until('HTTP/1.1 200');
      }
      await clock.advance(cutWithinMs - 5_000);
      await trickle.closed;
      expect(flow.socket.destroyed).toBe(false);
      await clock.advance(cutWithinMs);
      if (size === 900_000) await flow.closed;
      flow.socket.destroy();
      await app.stop();
    },
  );
});
