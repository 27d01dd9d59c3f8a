import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Clock, Timer } from '../../base/clock.ts';
import { ApiError } from '../../core/errors.ts';
import type { InteractiveCall } from '../../inference/inference.ts';
import type { ResponseSession } from '../../responses/session.ts';
import { parseSocketRequest, socketError } from '../../wire/responses/socket.ts';
import type { BodyShare } from '../body-budget.ts';
import { decodeText } from '../read-body.ts';
import { toApiError } from '../to-api-error.ts';
import { maxBufferedBytes, drained } from '../event-stream.ts';

/** Turns that may wait for the one under way. */
const maxWaiting = 8;
/** As the specification of this transport has it. */
const maxMs = 60 * 60_000;
const pingMs = 30_000;
/** Codes of RFC 6455. */
const goingAway = 1001;
const policyViolation = 1008;
const tryAgainLater = 1013;

export interface ResponseSocketDeps {
  socket: WebSocket;
  connection: Socket;
  session: ResponseSession;
  share: BodyShare;
  /** The text of a turn with the files it names in their places. */
  inline: (text: string, call: InteractiveCall, hold: BodyShare['reserve']) => Promise<string>;
  clock: Clock;
  /** Whose turn it is, asked anew for each: the key may have been revoked. Its signal aborts when the turn is to end. */
  call: (signal: AbortSignal) => Promise<InteractiveCall>;
  /** Aborts when nobody waits any more, with the reason if that is ours. */
  signal: AbortSignal;
  /** Told how each turn ended. */
  onTurnEnd: (call: InteractiveCall | undefined, ms: number, error: ApiError | undefined) => void;
}

export type ResponseSocket = ReturnType<typeof serveResponses>;

/** Turns of `response.create` over one WebSocket, one at a time, in the order in which they came. */
export function serveResponses(parts: ResponseSocketDeps) {
  const { socket, connection, session, share, inline, clock, call, signal, onTurnEnd } = parts;
  const waiting: Buffer[] = [];
  let turn: AbortController | undefined;
  let heldBytes = 0;
  /** Of the turn under way with the files it names, beyond what came. */
  let filledBytes = 0;
  let readBytes = connection.bytesRead;
  let goodbye: { code: number; error?: ApiError } | undefined;
  let answers = true;
  let isOver = false;
  const limit = clock.after(maxMs, () => {
    goodbye = { code: goingAway, error: tooOld() };
    if (!turn) close();
  });
  let pinging: Timer = clock.after(pingMs, ping);

  function ping() {
    // What still waits to be sent stands before a ping: whether that is taken is looked at elsewhere (slow-client-timeouts.ts).
    if (!answers && socket.bufferedAmount === 0) return socket.terminate();
    answers = false;
    socket.ping();
    pinging = clock.after(pingMs, ping);
  }

  function holdWith(filled: number) {
    share.reserve(heldBytes + filled + connection.bytesRead - readBytes);
    filledBytes = filled;
  }

  /** Counts what has come, the message that is still coming among it. */
  function onBytes() {
    if (isOver) return;
    try {
      holdWith(filledBytes);
    } catch (error) {
      refuse(toApiError(error), tryAgainLater);
    }
  }

  /** Nothing that came is run: not the turn under way, and none that waits. */
  function refuse(error: ApiError, code: number) {
    if (isOver) return;
    isOver = true;
    waiting.length = 0;
    turn?.abort(error);
    socket.send(socketError(error, 0));
    socket.close(code);
  }

  function close() {
    if (isOver) return;
    if (goodbye?.error) socket.send(socketError(goodbye.error, 0));
    socket.close(goodbye?.code ?? goingAway);
  }

  async function work() {
    for (let next = waiting.shift(); next; next = goodbye ? undefined : waiting.shift()) {
      turn = new AbortController();
      await take(next, turn.signal);
      heldBytes -= next.length;
      filledBytes = 0;
      onBytes();
    }
    turn = undefined;
    if (goodbye) close();
  }

  async function take(message: Buffer, stopped: AbortSignal) {
    const begun = clock.monotonic();
    let asked: InteractiveCall | undefined;
    let failure: ApiError | undefined;
    let next = 0;
    try {
      asked = await call(stopped);
      // The bytes of a message are counted after it was told.
      stopped.throwIfAborted();
      const text = await inline(decodeText(message), asked, holdWith);
      for await (const events of session.stream(parseSocketRequest(text), asked)) {
        connection.cork();
        for (const event of events) {
          socket.send(JSON.stringify(event));
          next = event.sequence_number + 1;
        }
        connection.uncork();
        if (socket.bufferedAmount > maxBufferedBytes) await drained(connection, stopped);
      }
    } catch (error) {
      failure = toApiError(error);
      if (!isOver) socket.send(socketError(failure, next));
    }
    if (!stopped.aborted || failure) onTurnEnd(asked, clock.monotonic() - begun, failure);
  }

  socket.on('message', (data: Buffer) => {
    readBytes = connection.bytesRead;
    if (isOver || goodbye) return;
    heldBytes += data.length;
    if (waiting.length >= maxWaiting) return refuse(tooMany(), policyViolation);
    waiting.push(data);
    if (!turn) void work();
  });
  socket.on('pong', () => (answers = true));
  connection.on('data', onBytes);
  signal.addEventListener('abort', () => turn?.abort(signal.reason), { once: true });
  socket.once('close', () => {
    isOver = true;
    limit.cancel();
    pinging.cancel();
    waiting.length = 0;
    session.close();
    turn?.abort(new Error('the client went away'));
  });

  return {
    /** Says goodbye, after the turn under way. */
    drain() {
      goodbye ??= { code: goingAway };
      if (!turn) close();
    },
  };
}

function tooOld(): ApiError {
  return new ApiError(
    'websocket_connection_limit_reached',
    'A WebSocket is open for 60 minutes at most: open another one, and go on from what is stored or send all of it.',
  );
}

function tooMany(): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    `More than ${maxWaiting} turns wait on this WebSocket: wait for answers, or open more of them.`,
    { retryAfter: 1 },
  );
}
