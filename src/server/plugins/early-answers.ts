import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../base/clock.ts';

/** How long a client may go on sending a body that was answered already. */
const lingerMs = 5_000;

/**
 * Reads on for a moment after an answer that came before the end of the body (401, 413, 422): closing at once would
 * reset the connection, and the client would never see the answer. Who sends endlessly is cut off.
 */
export function lingerAfterEarlyAnswers(app: FastifyInstance, clock: Clock): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    reply.raw.once('finish', () => {
      if (raw.complete) return;
      const { socket } = raw;
      raw.unpipe();
      raw.resume();
      const timer = clock.after(lingerMs, () => socket.destroy());
      const stop = () => {
        timer.cancel();
        raw.off('end', stop);
        socket.off('close', stop);
      };
      raw.once('end', stop);
      socket.once('close', stop);
    });
    done();
  });
}
