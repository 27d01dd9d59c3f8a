import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { freePort } from '../../../../test/support/free-port.ts';
import { createManualClock } from '../../../../test/support/manual-clock.ts';
import { createTransport } from './transport.ts';

const never = new AbortController().signal;
const paths = ['/1', '/2', '/3', '/4', '/5', '/6', '/7', '/8'];

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

function transportTo(port: number, connections: number | null) {
  const clock = createManualClock();
  const transport = createTransport({
    origin: `http://127.0.0.1:${port}`,
    headers: {},
    connections,
    timeouts: { connectMs: 10_000, firstByteMs: 10_000, idleMs: 10_000, totalMs: 10_000 },
    clock,
  });
  open.push(() => transport.close());
  return { clock, transport, ask: (path: string) => transport.get(path, never) };
}

// An error that undici throws while it fails a request has no handler: it would end the process, and it fails this test run.
it('fails each call that waits for a connection to an unreachable server', async () => {
  const { transport, clock, ask } = transportTo(await freePort(), 2);
  for (const each of await Promise.allSettled(paths.map(ask)))
    expect(each).toMatchObject({ status: 'rejected', reason: { code: 'upstream_unreachable' } });
  expect(transport.waiting).toBe(0);
  expect(clock.pending).toBe(0);
});

it.each([null, 1, 3])(
  'sends nothing on connections that a server closes after its answer without a word: %s of them',
  async (most) => {
    const asked: string[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        asked.push(bytes.toString().split(' ')[1]!);
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    open.push(() => server.close());
    const { ask } = transportTo((server.address() as AddressInfo).port, most);
    for (const path of paths) expect(await ask(path)).toMatchObject({ status: 200 });
    await Promise.all(paths.map(ask));
    expect(asked.toSorted()).toEqual([...paths, ...paths].toSorted());
  },
);
