import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChatChunks } from '../../src/wire/chat/chat.ts';
import { findStreamFault } from '../fuzz/check-stream.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { createBilledKey } from './support/billed-key.ts';
import { openRaw, type RawConnection } from './support/raw-http.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

// Streams of every format end correctly: with the end marker when the answer is complete, otherwise with an error
// event. A client that disconnects pays for what it received.

const formats = [
  {
    path: '/v1/chat/completions',
    ask: (content: string) => ({ model: 'tiny', messages: [{ role: 'user', content }], stream: true }),
    end: 'data: [DONE]',
    cut: '"finish_reason":"length"',
    failed: /\n\ndata: \{"error":\{[^\n]*"type":"server_error"[^\n]*\n\n$/,
    limit: { max_tokens: 2 },
  },
  {
    path: '/v1/responses',
    ask: (input: string) => ({ model: 'tiny', input, stream: true }),
    end: 'event: response.completed',
    cut: 'event: response.incomplete',
    failed: /\n\nevent: error\ndata: \{"type":"error"[^\n]*"type":"server_error"[^\n]*\n\n$/,
    limit: { max_output_tokens: 2 },
  },
  {
    path: '/v1/messages',
    ask: (content: string) => ({
      model: 'tiny',
      max_tokens: 1000,
      messages: [{ role: 'user', content }],
      stream: true,
    }),
    end: 'event: message_stop',
    cut: '"stop_reason":"max_tokens"',
    failed: /\n\nevent: error\ndata: \{"type":"error"[^\n]*"type":"api_error"[^\n]*\n\n$/,
    limit: { max_tokens: 2 },
  },
];

let clock: ManualClock;
let app: RunningServer;
beforeAll(async () => {
  clock = createManualClock();
  app = await startServer({ clock });
});
afterAll(() => app.stop());

async function open(to: RunningServer, path: string, json: object, key = to.keys.a): Promise<RawConnection> {
  const connection = await openRaw(to.url);
  const body = JSON.stringify(json);
  connection.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return connection;
}

describe.each(formats)('a stream of $path', ({ path, ask, end, cut, failed, limit }) => {
  const read = (content: string, more: object = {}) =>
    app.call('POST', path, { json: { ...ask(content), ...more } });

  it('ends once with its end marker when the answer is complete', async () => {
    const { text } = await read('[[tokens 8]]');
    expect(findStreamFault(path, text)).toBeUndefined();
    expect(text.split(end)).toHaveLength(2);
  });

  it('reports the token limit', async () => {
    const { text } = await read('[[tokens 8]]', limit);
    expect(findStreamFault(path, text)).toBeUndefined();
    expect(text).toContain(cut);
  });

  it.each([1, 2, 3, 4, 5, 6])(
    'ends with an error when the engine breaks off after %i chunks',
    async (after) => {
      const { status, text } = await read(`[[tokens 8]] [[cut ${after}]]`);
      expect(status).toBe(200);
      expect(findStreamFault(path, text)).toBeUndefined();
      expect(text).toMatch(failed);
      expect(text).not.toContain(end);
    },
  );

  it('returns a regular error if nothing was sent', async () => {
    expect((await read('[[cut 0]]')).status).toBe(502);
    expect((await read('[[fail 503]]')).status).toBe(503);
  });

  it('sends comments while the engine is silent', async () => {
    const connection = await open(app, path, ask('[[delay 1000000]]'));
    await expect.poll(() => app.engine.stats().running).toBe(1);
    await clock.advance(15_000);
    expect(await connection.until('\n: keep-alive\n\n')).toMatch(/^HTTP\/1.1 200 OK/);
    connection.socket.destroy();
    await expect.poll(() => app.engine.stats().running).toBe(0);
  });

  // The engine sends seven chunks, one per second of the clock: the first is empty, the others have two words each.
  it.each([
    [0, ''],
    [1, ''],
    [2, 'word word'],
    [3, 'word word word word'],
    [4, 'word word word word word word'],
    [5, 'word word word word word word word word'],
  ])(
    'stops the engine when the client disconnects after %i s, and charges what it received (%s)',
    async (s, seen) => {
      const before = app.logged.length;
      const { key, billed } = await createBilledKey(app);
      const connection = await open(app, path, ask('[[tokens 8]] [[delay 7000]]'), key);
      await expect.poll(() => app.engine.stats().running).toBe(1);
      await clock.advance(s * 1000);
      if (s > 0) await connection.until('data: ');
      connection.socket.destroy();
      await expect.poll(() => app.engine.stats().running).toBe(0);
      const report = () => app.logged.slice(before).find(({ fields }) => fields['gone'] === true);
      await expect.poll(report).toBeDefined();
      // Charges are written in groups, a little later on the clock.
      const charged = async () => {
        await clock.advance(100);
        return billed();
      };
      const words = s === 0 ? undefined : Math.ceil(seen.length / 4);
      await expect.poll(charged).toEqual({ requests: s === 0 ? 0 : 1, outputTokens: words ?? 0 });
      expect(report()!.fields).toMatchObject({ model: 'tiny', server: 'only', servers_asked: 1 });
      expect(report()!.fields['output_tokens']).toBe(words);
      expect(app.capacity.interactiveLoad()).toEqual({});
    },
  );
});

/** Counts the bytes until `end`. Discards them, because there are many. */
function lengthUntil({ socket }: RawConnection, end: string): Promise<number> {
  let length = 0;
  let last = '';
  return new Promise((resolve, reject) => {
    socket.removeAllListeners('data');
    socket.on('data', (chunk) => {
      length += chunk.length;
      last = last.slice(-end.length) + chunk.toString('latin1');
      if (last.includes(end)) resolve(length);
    });
    socket.once('close', () => reject(new Error('closed before the end')));
    socket.resume();
  });
}

/** Reads until `happened`, then stops reading. */
function readUntil({ socket }: RawConnection, happened: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (!happened()) return;
      socket.off('data', check).pause();
      resolve();
    };
    socket.on('data', check).resume();
  });
}

describe('a slow reader', () => {
  const chunks = 250;
  const piece = 'x'.repeat(100_000);
  let pulled = 0;
  let slow: RunningServer;
  const slowClock = createManualClock();
  beforeAll(async () => {
    slow = await startServer({
      clock: slowClock,
      engine: (scripted) => ({
        ...scripted,
        async generate(request, call) {
          const answer = await scripted.generate(request, call);
          if (request.text.includes('much')) answer.choices[0]!.message.content = piece.repeat(chunks);
          return answer;
        },
        async *stream(request, call): ChatChunks {
          if (!request.text.includes('much')) return yield* scripted.stream(request, call);
          const head = { id: 'c', object: 'chat.completion.chunk' as const, created: 1, model: 'm' };
          for (pulled = 0; pulled < chunks; pulled++)
            yield [{ ...head, choices: [{ index: 0, delta: { content: piece }, finish_reason: null }] }];
          yield [{ ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }];
        },
      }),
    });
  });
  afterAll(() => slow.stop());

  const askFor = (path: string, json: object) => {
    pulled = 0;
    return open(slow, path, json);
  };

  it.each(formats)('receives all of $path while the engine waits', async ({ path, ask, end }) => {
    const connection = await askFor(path, ask('much'));
    connection.socket.pause();
    await expect.poll(() => pulled).toBeGreaterThan(0);
    const other = await slow.call('POST', path, { json: ask('little') });
    expect(findStreamFault(path, other.text)).toBeUndefined();
    expect(pulled).toBeLessThan(chunks);
    expect(await lengthUntil(connection, end)).toBeGreaterThan(chunks * piece.length);
    connection.socket.destroy();
  });

  const load = () => slow.capacity.interactiveLoad();

  it.each(formats)(
    'is cut off from $path after 30 s without reading, which frees its slot',
    async ({ path, ask }) => {
      const connection = await askFor(path, ask('much'));
      connection.socket.pause();
      await expect.poll(() => pulled).toBeGreaterThan(0);
      const passes = async () => {
        await slowClock.advance(5_000);
        return load();
      };
      await expect.poll(passes).toEqual({});
      expect(pulled).toBeLessThan(chunks);
      connection.socket.destroy();
    },
  );

  it.each(formats)('is cut off from a plain answer of $path if it does not read', async ({ path, ask }) => {
    const before = slow.logged.length;
    const connection = await askFor(path, { ...ask('much'), stream: false });
    connection.socket.pause();
    const passes = async () => {
      await slowClock.advance(5_000);
      return slow.logged.slice(before).some(({ fields }) => fields['gone'] === true);
    };
    await expect.poll(passes).toBe(true);
    connection.socket.destroy();
  });

  it.each(formats)('is not cut off from $path while it reads', async ({ path, ask, end }) => {
    const connection = await askFor(path, ask('much'));
    connection.socket.pause();
    await expect.poll(() => pulled).toBeGreaterThan(0);
    for (let turn = 0; turn < 3; turn++) {
      // More than the buffers hold, so some of it was read.
      const enough = pulled + 12;
      await readUntil(connection, () => pulled > enough);
      await slowClock.advance(20_000);
    }
    expect(load()).toEqual({ tiny: 1 });
    expect(await lengthUntil(connection, end)).toBeGreaterThan(0);
    connection.socket.destroy();
  });
});
