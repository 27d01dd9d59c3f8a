import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../base/clock.ts';

/** The server cuts off a client that sends nothing for this time, or still sends after `maxTurns` times as long. */
const turnMs = 5_000;
const maxTurns = 6;

/**
 * Lingering close: after an answer that came before the end of the body (401, 413, 422), keeps reading for a while.
 * Closing at once would reset the connection, and a client that sends everything before it reads would never see the
 * answer.
 */
export function lingerOnClose(app: FastifyInstance, clock: Clock): void {
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    // Must run before 'finish', at which Node closes a connection without keep-alive.
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
  // Node calls this to close: end only our side, so that the client gets the whole answer and closes its own.
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
    // A handler may still wait for the body, and Node does not end an answered request with its connection.
    if (!raw.complete) raw.destroy();
    if (closing) socket.destroySoon();
  }
}
