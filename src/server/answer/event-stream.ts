import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { sseHeaders, sseKeepAlive } from '../../wire/shared/sse.ts';

/** Half of the 30 s after which the first proxies and clients drop a silent connection. */
const keepAliveMs = 15_000;

/** Buffer for a slow reader, some thousand events: the engine finishes most answers without waiting for the client. */
export const maxBufferedBytes = 1 << 20;

export interface EventStream {
  response: ServerResponse;
  /** Called once before the first byte, to keep Fastify from answering. */
  takeOver: () => void;
  /** Called before the first byte. */
  headers: () => Record<string, string>;
  /** Complete events, or ''. */
  events: AsyncIterable<string | Uint8Array>;
  /** Last event of a stream that failed. */
  toErrorEvent: (error: unknown) => string;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Writes server-sent events, with a keep-alive comment after 15 s of silence. Returns when either side has ended the
 * stream; the source is always closed.
 * @throws errors of the source before the first byte, which can still become an ordinary answer
 */
export async function writeEvents(stream: EventStream): Promise<void> {
  const { response, headers, toErrorEvent, clock, signal } = stream;
  const source = stream.events[Symbol.asyncIterator]();
  let lastWrite = clock.monotonic();
  let timer = clock.after(keepAliveMs, tick);

  function write(text: string | Uint8Array): boolean {
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
      if (next.value.length > 0 && !write(next.value) && response.writableLength > maxBufferedBytes)
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

/** Resolves when the write buffer is empty, the stream is closed or the signal aborts. */
export async function drained(writable: Writable, signal: AbortSignal): Promise<void> {
  if (writable.destroyed) return;
  await once(writable, 'drain', { signal }).catch(() => {});
}
