import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Traffic } from './traffic.ts';

const sweepMs = 5_000;
/** Time without progress after which a client is disconnected. */
const timeoutMs = 30_000;
/** Bytes of a body that count as progress, about 1 kB/s: slower than any honest connection. */
const minBytes = 30_000;

/** Byte counts of a request, and the monotonic times of their last progress. */
interface Progress {
  received: number;
  receivedAt: number;
  delivered: number;
  deliveredAt: number;
}

/**
 * Disconnects clients that send their body too slowly (security.md, C17) or do not read their answer. A limit on the
 * total time would hit large uploads and long streams. Time in which the server is the slow side does not count.
 */
export function closeSlowClients(traffic: Traffic, clock: Clock): { start(): void; stop(): void } {
  let progress = new Map<ServerResponse, Progress>();
  let timer: Timer | undefined;

  function sweep() {
    const now = clock.monotonic();
    const next = new Map<ServerResponse, Progress>();
    for (const response of traffic.inFlight()) {
      const { req: request } = response;
      const { socket } = request;
      const delivered = deliveredBytes(socket);
      const start = { received: socket.bytesRead, receivedAt: now, delivered, deliveredAt: now };
      const before = progress.get(response) ?? start;
      if (request.complete || hasUnreadBytes(request) || socket.bytesRead - before.received >= minBytes)
        Object.assign(before, { received: socket.bytesRead, receivedAt: now });
      if (socket.writableLength === 0 || delivered !== before.delivered)
        Object.assign(before, { delivered, deliveredAt: now });
      if (now - Math.min(before.receivedAt, before.deliveredAt) >= timeoutMs) socket.destroy();
      else next.set(response, before);
    }
    progress = next;
    timer = clock.after(sweepMs, sweep);
  }

  return { start: () => void (timer = clock.after(sweepMs, sweep)), stop: () => timer?.cancel() };
}

function hasUnreadBytes(request: IncomingMessage): boolean {
  return request.isPaused() || request.readableLength > 0;
}

/** Bytes passed to the operating system. `socket.bytesWritten` includes those still queued in this process. */
function deliveredBytes(socket: Socket): number {
  const { _handle: handle } = socket as {
    _handle?: Record<'bytesWritten' | 'writeQueueSize', number> | null;
  };
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}
