import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Clock, Timer } from '../../base/clock.ts';
import { ApiError } from '../../core/errors.ts';
import { heavySlices } from '../../base/loop-slices.ts';
import type { InteractiveCall } from '../../inference/inference.ts';
import type { ResponseSession } from '../../responses/session.ts';
import { parseSocketRequest, socketError } from '../../wire/responses/socket.ts';
import type { ReportFields } from '../../wire/schema/validate.ts';
import type { BodyShare } from '../request/body-budget.ts';
import { decodeText } from '../request/read-body.ts';
import { toApiError } from '../answer/to-api-error.ts';
import { maxBufferedBytes, drained } from '../answer/event-stream.ts';

/** Queued turns behind the one in flight. */
const maxWaiting = 8;
/** Lifetime of a socket, as OpenAI documents it for this transport. */
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
  /** Replaces file ids in the text of a turn by the contents of the files. */
  inline: (text: string, call: InteractiveCall, hold: BodyShare['reserve']) => Promise<string>;
  clock: Clock;
  /** Reports the unknown fields of a turn. */
  report: ReportFields;
  /** Authenticates a turn: the key may have been revoked since the last one. The signal ends the turn. */
  call: (signal: AbortSignal) => Promise<InteractiveCall>;
  /** Aborts when the client disconnects or the server shuts down. */
  signal: AbortSignal;
  onTurnEnd: (call: InteractiveCall | undefined, ms: number, error: ApiError | undefined) => void;
}

export type ResponseSocket = ReturnType<typeof serveResponses>;

/** Runs the `response.create` turns of one WebSocket, one at a time in their order. */
export function serveResponses(deps: ResponseSocketDeps) {
  const { socket, connection, session, share, inline, clock, call, signal, onTurnEnd } = deps;
  const waiting: Buffer[] = [];
  let turn: AbortController | undefined;
  let heldBytes = 0;
  /** Bytes of the current turn with its files inlined. */
  let inlinedBytes = 0;
  let readBytes = connection.bytesRead;
  let goodbye: { code: number; error?: ApiError } | undefined;
  let hasPong = true;
  let isOver = false;
  const limit = clock.after(maxMs, () => {
    goodbye = { code: goingAway, error: tooOld() };
    if (!turn) close();
  });
  let pinging: Timer = clock.after(pingMs, ping);

  function ping() {
    // A ping waits behind unsent data, which slow-client-timeouts.ts watches.
    if (!hasPong && socket.bufferedAmount === 0) return socket.terminate();
    hasPong = false;
    socket.ping();
    pinging = clock.after(pingMs, ping);
  }

  function reserve(inlined: number) {
    share.reserve(heldBytes + inlined + connection.bytesRead - readBytes);
    inlinedBytes = inlined;
  }

  /** Reserves memory for received bytes, including an incomplete message. */
  function onBytes() {
    if (isOver) return;
    try {
      reserve(inlinedBytes);
    } catch (error) {
      refuse(toApiError(error), tryAgainLater);
    }
  }

  /** Closes the socket with an error, aborting the current turn and dropping queued ones. */
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
      inlinedBytes = 0;
      onBytes();
    }
    turn = undefined;
    if (goodbye) close();
  }

  async function take(message: Buffer, stopped: AbortSignal) {
    const begun = clock.monotonic();
    const leave = heavySlices.enterInteractive();
    let asked: InteractiveCall | undefined;
    let failure: ApiError | undefined;
    let next = 0;
    try {
      asked = await call(stopped);
      // `onBytes` may have aborted the turn: it runs after the message event.
      stopped.throwIfAborted();
      const text = await inline(decodeText(message), asked, reserve);
      for await (const events of session.stream(parseSocketRequest(text, deps.report), asked)) {
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
    } finally {
      leave();
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
  socket.on('pong', () => (hasPong = true));
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
    /** Closes the socket after the current turn. */
    drain() {
      goodbye ??= { code: goingAway };
      if (!turn) close();
    },
  };
}

function tooOld(): ApiError {
  return new ApiError(
    'websocket_connection_limit_reached',
    'A WebSocket stays open for at most 60 minutes. Open another one and continue with previous_response_id or the full input.',
  );
}

function tooMany(): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    `More than ${maxWaiting} turns are queued on this WebSocket. Wait for answers or open another one.`,
    { retryAfter: 1 },
  );
}
