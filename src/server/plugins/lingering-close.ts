import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../base/clock.ts';

/** How long a client may send nothing of a body that was answered already, and how many times as long it may go on sending. */
const turnMs = 5_000;
const maxTurns = 6;

/**
 * Reads on for a while after an answer that came before the end of the body (401, 413, 422), also when the connection is to
 * be closed then: closing at once would reset it, and a client that sends all before it reads would never see the answer.
 * Who sends endlessly is cut off.
 */
export function lingerOnClose(app: FastifyInstance, clock: Clock): void {
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    // Before 'finish', at which Node closes a connection that is not kept alive.
    if (!raw.complete)
      reply.raw.once('prefinish', () => {
        if (!raw.complete) linger(raw, clock);
      });
    done(null, payload);
  });
}

function linger(raw: IncomingMessage, clock: Clock): void {
  const { socket } = raw;
  let closing = false;
  let turns = 0;
  let seen = socket.bytesRead;
  let timer = clock.after(turnMs, check);
  // What Node calls in order to close: we close our side, the client has the answer and its end, and may close the other.
  socket.destroySoon = () => {
    closing = true;
    socket.end();
  };
  raw.unpipe();
  raw.resume();
  raw.once('end', stop);
  socket.once('close', stop);

  function check() {
    const isSilent = socket.bytesRead === seen;
    seen = socket.bytesRead;
    if (isSilent || ++turns === maxTurns) socket.destroy();
    else timer = clock.after(turnMs, check);
  }

  function stop() {
    timer.cancel();
    raw.off('end', stop);
    socket.off('close', stop);
    Reflect.deleteProperty(socket, 'destroySoon');
    // Node ends a request with its connection only until it is answered; a handler may still wait for the body.
    if (!raw.complete) raw.destroy();
    if (closing) socket.destroySoon();
  }
}
