import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Clock, Timer } from '../../base/clock.ts';

const windowMs = 30_000;
/** About 1 kB/s: slower than any honest line, and a 32 MB upload may take as long as it needs above that. */
const minimumBytes = 30_000;

/**
 * Cuts off bodies that trickle in (reliability.md, C17). A fixed time limit would punish honest large uploads.
 * While we are the slow side, with bytes waiting to be read, nobody is blamed.
 */
export function cutSlowBodies(app: FastifyInstance, clock: Clock): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    if (hasBody(raw)) watch(raw, clock, (timerStop) => reply.raw.once('close', timerStop));
    done();
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > minimumBytes;
}

function watch(raw: IncomingMessage, clock: Clock, onEnd: (stop: () => void) => void): void {
  const { socket } = raw;
  let seen = socket.bytesRead;
  let timer: Timer = clock.after(windowMs, check);

  function check() {
    if (raw.complete) return;
    const waitsForUs = raw.isPaused() || raw.readableLength > 0;
    if (!waitsForUs && socket.bytesRead - seen < minimumBytes) {
      socket.destroy();
      return;
    }
    seen = socket.bytesRead;
    timer = clock.after(windowMs, check);
  }

  onEnd(() => timer.cancel());
}
