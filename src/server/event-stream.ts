import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { sseHeaders, sseKeepAlive } from '../wire/shared/sse.ts';

/** Proxies and clients give up on silent connections after 30 to 60 s. */
const keepAliveMs = 15_000;

/**
 * So much may wait for a client that reads slowly, some thousand events: an engine is done with most answers long before
 * their reader is, and is free for others then.
 */
export const maxBufferedBytes = 1 << 20;

export interface EventStream {
  response: ServerResponse;
  /** Called once before the first byte: from then on nobody else may answer. */
  takeOver: () => void;
  /** Asked before the first byte. */
  headers: () => Record<string, string>;
  /** Whole events, or nothing yet. */
  events: AsyncIterable<string>;
  /** Makes the event that ends a stream which failed. */
  toErrorEvent: (error: unknown) => string;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Writes server-sent events, what comes together in one write, with a comment after every 15 s of silence. Returns when
 * the stream is over, whichever side ended it; the source is always told.
 * @throws whatever the source throws before anything was written: it can still become an ordinary answer
 */
export async function writeEvents(stream: EventStream): Promise<void> {
  const { response, headers, toErrorEvent, clock, signal } = stream;
  const source = stream.events[Symbol.asyncIterator]();
  let lastWrite = clock.monotonic();
  let timer = clock.after(keepAliveMs, tick);

  function write(text: string): boolean {
    if (response.destroyed) return true;
    if (!response.headersSent) {
      stream.takeOver();
      response.writeHead(200, { ...headers(), ...sseHeaders });
    }
    lastWrite = clock.monotonic();
    return response.write(text);
  }

  function tick() {
    if (response.destroyed) return;
    if (clock.monotonic() - lastWrite >= keepAliveMs) write(sseKeepAlive);
    timer = clock.after(lastWrite + keepAliveMs - clock.monotonic(), tick);
  }

  try {
    for (let next = await source.next(); !next.done; next = await source.next()) {
      if (next.value !== '' && !write(next.value) && response.writableLength > maxBufferedBytes)
        await drained(response, signal);
      if (response.destroyed) return;
    }
    response.end();
  } catch (error) {
    if (!response.headersSent && !response.destroyed) throw error;
    if (!response.destroyed) response.end(toErrorEvent(error));
  } finally {
    timer.cancel();
    await source.return?.();
  }
}

/** Resolves when the client has taken what was written, or nobody waits for it any more. */
export async function drained(writable: Writable, signal: AbortSignal): Promise<void> {
  if (writable.destroyed) return;
  await once(writable, 'drain', { signal }).catch(() => {});
}
