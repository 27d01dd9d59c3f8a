import { expect, it } from 'vitest';
import { freePort } from '../../../../test/support/free-port.ts';
import { createManualClock } from '../../../../test/support/manual-clock.ts';
import { createTransport, type TransportOptions } from './transport.ts';

const never = new AbortController().signal;
const timeouts = { connectMs: 10_000, firstByteMs: 10_000, idleMs: 10_000, totalMs: 10_000 };

function transportTo(port: number, options: Partial<TransportOptions> = {}) {
  const clock = createManualClock();
  const origin = `http://127.0.0.1:${port}`;
  return {
    clock,
    transport: createTransport({ origin, headers: {}, connections: 2, timeouts, clock, ...options }),
  };
}

// What undici throws while it fails a request is nobody's: it would end the process, and it fails the run of this test.
it('fails all that wait for a connection to a server that is not there, each by itself', async () => {
  const { transport, clock } = transportTo(await freePort());
  const asked = Array.from({ length: 8 }, () => transport.post('/x', '{}', never));
  for (const each of await Promise.allSettled(asked))
    expect(each).toMatchObject({ status: 'rejected', reason: { code: 'upstream_unreachable' } });
  expect(transport.waiting).toBe(0);
  expect(clock.pending).toBe(0);
  await transport.close();
});
