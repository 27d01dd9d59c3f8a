import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Traffic } from './traffic.ts';

const sweepMs = 5_000;
/** How long a client may stand still. */
const patienceMs = 30_000;
/** Of a body in that time. About 1 kB/s: slower than any honest line, and a 32 MB upload may take as long as it needs above. */
const minBytes = 30_000;

/** How far a request was when it last got on. */
interface Progress {
  received: number;
  receivedAt: number;
  taken: number;
  takenAt: number;
}

/**
 * Cuts off clients whose body trickles in (reliability.md, C17), and those that take nothing of their answer. Fixed limits of
 * time would punish large uploads and long streams; while we are the slow side nobody is blamed. One look at everything in
 * flight every few seconds costs a request nothing.
 */
export function closeSlowClients(traffic: Traffic, clock: Clock): { start(): void; stop(): void } {
  let known = new Map<ServerResponse, Progress>();
  let timer: Timer | undefined;

  function sweep() {
    const now = clock.monotonic();
    const still = new Map<ServerResponse, Progress>();
    for (const response of traffic.inFlight()) {
      const { req: request } = response;
      const { socket } = request;
      const taken = deliveredBytes(socket);
      const before = known.get(response) ?? {
        received: socket.bytesRead,
        receivedAt: now,
        taken,
        takenAt: now,
      };
      if (request.complete || hasUnreadBytes(request) || socket.bytesRead - before.received >= minBytes)
        Object.assign(before, { received: socket.bytesRead, receivedAt: now });
      if (socket.writableLength === 0 || taken !== before.taken)
        Object.assign(before, { taken, takenAt: now });
      if (now - Math.min(before.receivedAt, before.takenAt) >= patienceMs) socket.destroy();
      else still.set(response, before);
    }
    known = still;
    timer = clock.after(sweepMs, sweep);
  }

  return {
    start: () => void (timer = clock.after(sweepMs, sweep)),
    stop: () => timer?.cancel(),
  };
}

/** Bytes that came and were not looked at yet. */
function hasUnreadBytes(request: IncomingMessage): boolean {
  return request.isPaused() || request.readableLength > 0;
}

/** The bytes that the system has accepted for the client. `socket.bytesWritten` counts those that wait for it too. */
function deliveredBytes(socket: Socket): number {
  const { _handle: handle } = socket as {
    _handle?: { bytesWritten: number; writeQueueSize: number } | null;
  };
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}
