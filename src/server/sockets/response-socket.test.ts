import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import type { ResponseSession } from '../../responses/session.ts';
import { serveResponses } from './response-socket.ts';

const minute = 60_000;

function serve(most = Infinity, filled = 0) {
  const clock = createManualClock();
  const sent: { type: string; code?: string }[] = [];
  const socket = Object.assign(new EventEmitter(), {
    bufferedAmount: 0,
    send: (text: string) => void sent.push(JSON.parse(text)),
    ping: vi.fn<() => void>(() => void socket.emit('pong')),
    terminate: vi.fn<() => void>(),
    close: vi.fn<(code: number) => void>(),
  });
  const connection = Object.assign(new EventEmitter(), { bytesRead: 0, cork() {}, uncork() {} });
  let finish = () => {};
  const begun: AbortSignal[] = [];
  const session: ResponseSession = {
    async *stream(_request, { signal }) {
      begun.push(signal);
      await new Promise<void>((resolve) => (finish = resolve));
      yield [{ type: 'response.completed', sequence_number: 0 }];
    },
    close: vi.fn<() => void>(),
  };
  const held: number[] = [];
  serveResponses({
    socket: socket as unknown as WebSocket,
    connection: connection as unknown as Socket,
    session,
    share: {
      reserve(bytes) {
        held.push(bytes);
        if (bytes > most) throw new Error('no room');
      },
    },
    inline: async (text, _call, hold) => {
      if (filled > 0) hold(filled);
      return text;
    },
    report: () => {},
    clock,
    signal: new AbortController().signal,
    call: async (signal) => ({
      caller: { orgId: 'o', keyId: 'k', scopes: [], models: [] },
      requestId: 'r',
      endpoint: '/v1/responses',
      signal,
    }),
    onTurnEnd() {},
  });
  const say = (message: object) => {
    const data = Buffer.from(JSON.stringify(message));
    connection.bytesRead += data.length;
    socket.emit('message', data);
    connection.emit('data', data);
    return data.length;
  };
  return { clock, socket, connection, sent, held, begun, say, finish: () => finish() };
}

const create = { type: 'response.create', model: 'm', input: 'x' };
const turns = () => new Promise((resolve) => setImmediate(resolve));

test('a WebSocket is told goodbye after 60 minutes, when its turn is over', async () => {
  const { clock, socket, sent, say, finish } = serve();
  say(create);
  await turns();
  await clock.advance(60 * minute);
  expect(socket.close).not.toHaveBeenCalled();
  finish();
  await turns();
  expect(sent).toMatchObject([
    { type: 'response.completed' },
    { type: 'error', code: 'websocket_connection_limit_reached' },
  ]);
  expect(socket.close).toHaveBeenCalledOnce();
});

test('a WebSocket whose client answers no ping is cut, unless it has still to take what was sent', async () => {
  const { clock, socket } = serve();
  await clock.advance(10 * minute);
  expect(socket.terminate).not.toHaveBeenCalled();
  socket.ping.mockImplementation(() => {});
  socket.bufferedAmount = 1;
  await clock.advance(10 * minute);
  expect(socket.terminate).not.toHaveBeenCalled();
  socket.bufferedAmount = 0;
  await clock.advance(minute);
  expect(socket.terminate).toHaveBeenCalledOnce();
});

test('messages count as held from their first byte until their turn is over', async () => {
  const { connection, held, say, finish } = serve();
  connection.bytesRead = 40;
  connection.emit('data', Buffer.alloc(40));
  expect(held.at(-1)).toBe(40);
  const [first, second] = [say(create), say({ ...create, input: 'longer' })];
  expect(held.at(-1)).toBe(first + second);
  await turns();
  finish();
  await turns();
  expect(held.at(-1)).toBe(second);
  finish();
  await turns();
  expect(held.at(-1)).toBe(0);
});

test('a message for which there is no room is not run, and none after it', async () => {
  const { socket, sent, begun, say } = serve(10);
  say(create);
  say(create);
  await turns();
  expect(begun).toEqual([]);
  expect(sent).toMatchObject([{ type: 'error' }]);
  expect(socket.close.mock.calls).toEqual([[1013]]);
});

test('too many turns that wait end the one under way, and those that wait are not begun', async () => {
  const { socket, sent, begun, say, finish } = serve();
  say(create);
  await turns();
  for (let n = 0; n < 11; n++) say(create);
  expect(begun[0]!.aborted).toBe(true);
  finish();
  await turns();
  expect(begun).toHaveLength(1);
  expect(sent[0]).toMatchObject({ type: 'error', code: 'rate_limit_exceeded' });
  expect(socket.close.mock.calls).toEqual([[1008]]);
});

test('what a turn has with the files it names is held until it is over', async () => {
  const { held, say, finish } = serve(Infinity, 500);
  const bytes = say(create);
  await turns();
  expect(held.at(-1)).toBe(bytes + 500);
  finish();
  await turns();
  expect(held.at(-1)).toBe(0);
});
