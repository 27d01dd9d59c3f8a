import { Writable } from 'node:stream';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { writeEvents } from './event-stream.ts';

/** Response whose client reads only when the test lets it. */
function fakeResponse() {
  const written: string[] = [];
  let release: (() => void) | undefined;
  let held = false;
  const stream = new Writable({
    highWaterMark: 16_384,
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.toString());
      if (held) release = done;
      else done();
    },
  });
  const head = { headersSent: false, status: 0, headers: {} as Record<string, string> };
  const response = Object.assign(stream, {
    writeHead(status: number, headers: Record<string, string>) {
      head.headersSent = true;
      head.status = status;
      head.headers = headers;
    },
  });
  Object.defineProperty(response, 'headersSent', { get: () => head.headersSent });
  return {
    response: response as unknown as ServerResponse,
    written,
    head,
    hold: () => {
      held = true;
    },
    letGo: () => {
      held = false;
      release?.();
    },
  };
}

function sourceOf(events: string[]) {
  const state = { pulled: 0, returned: false };
  async function* generate() {
    try {
      for (const event of events) {
        state.pulled++;
        yield event;
      }
    } finally {
      state.returned = true;
    }
  }
  return { events: generate(), state };
}

const base = () => ({
  takeOver: () => {},
  headers: () => ({ 'x-request-id': 'req_1' }),
  toErrorEvent: (error: unknown) => `data: ${(error as Error).message}\n\n`,
  clock: createManualClock(),
  signal: new AbortController().signal,
});

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('writeEvents', () => {
  it('makes one write of what comes together, with the headers of a stream', async () => {
    const { response, written, head } = fakeResponse();
    const clock = createManualClock();
    await writeEvents({
      ...base(),
      clock,
      response,
      events: sourceOf(['data: 1\n\ndata: 2\n\n', 'data: 3\n\n']).events,
    });
    expect(written).toEqual(['data: 1\n\ndata: 2\n\n', 'data: 3\n\n']);
    expect(head).toMatchObject({
      status: 200,
      headers: { 'x-request-id': 'req_1', 'cache-control': 'no-cache' },
    });
    expect(response.writableEnded).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('waits for a client that reads slowly instead of filling the memory', async () => {
    const { response, hold, letGo } = fakeResponse();
    const { events, state } = sourceOf(Array.from({ length: 100 }, () => 'x'.repeat(100_000)));
    hold();
    const done = writeEvents({ ...base(), response, events });
    await settle();
    expect(state.pulled).toBeLessThan(15);
    letGo();
    await done;
    expect(state.pulled).toBe(100);
  });

  it('is done with a source of some thousand events, however slowly the client reads', async () => {
    const { response, hold } = fakeResponse();
    const { events, state } = sourceOf(Array.from({ length: 4_000 }, () => 'x'.repeat(250)));
    hold();
    await writeEvents({ ...base(), response, events });
    expect(state).toEqual({ pulled: 4_000, returned: true });
  });

  it('ends the source when the client goes away while it is waited for', async () => {
    const { response, hold } = fakeResponse();
    const controller = new AbortController();
    const { events, state } = sourceOf(Array.from({ length: 10 }, () => 'x'.repeat(2_000_000)));
    hold();
    const done = writeEvents({ ...base(), response, events, signal: controller.signal });
    await settle();
    response.destroy();
    controller.abort();
    await done;
    expect(state).toEqual({ pulled: 1, returned: true });
  });

  it('writes no comment to a client that has gone, however long the source takes', async () => {
    const { response, written } = fakeResponse();
    const clock = createManualClock();
    let next: (result: IteratorResult<string>) => void = () => {};
    const events = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<IteratorResult<string>>((resolve) => (next = resolve)),
      }),
    };
    const done = writeEvents({ ...base(), clock, response, events });
    await clock.advance(15_000);
    expect(written).toEqual([': keep-alive\n\n']);
    response.destroy();
    await clock.advance(60_000);
    next({ done: false, value: 'data: 1\n\n' });
    await done;
    expect(written).toEqual([': keep-alive\n\n']);
    expect(clock.pending).toBe(0);
  });

  it('throws what comes before the first event, and writes what comes after', async () => {
    const failing = async function* (first: string[]) {
      yield* first;
      throw new Error('broken');
    };
    const early = fakeResponse();
    // Nothing was written yet where only empty lists came.
    await expect(writeEvents({ ...base(), response: early.response, events: failing(['']) })).rejects.toThrow(
      'broken',
    );
    expect([early.head.headersSent, early.response.writableEnded]).toEqual([false, false]);
    const late = fakeResponse();
    await writeEvents({ ...base(), response: late.response, events: failing(['data: 1\n\n']) });
    expect(late.written).toEqual(['data: 1\n\n', 'data: broken\n\n']);
  });
});
