import type { FastifyRequest } from 'fastify';
import { clientNetwork } from '../../base/addresses.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { ClientAddress } from '../client-address.ts';

/** Requests of one network that are logged one by one in each minute. */
const maxLines = 20;
const minuteMs = 60_000;
/** Networks that are counted one by one; further ones are counted together. */
const maxNetworks = 1_000;
const others = 'other networks';

export type StrangerLog = ReturnType<typeof createStrangerLog>;

/** Keeps requests without a valid key from filling the log: above 20 per minute and network, they are logged as one sum per minute. */
export function createStrangerLog(deps: { clock: Clock; log: Log; clientAddress: ClientAddress }) {
  const { clock, log, clientAddress } = deps;
  let networks = new Map<string, { lines: number; statuses: Record<number, number> }>();
  let timer: Timer | undefined;

  function flush(): void {
    timer?.cancel();
    timer = undefined;
    const past = networks;
    networks = new Map();
    for (const [address, { statuses }] of past) {
      const requests = Object.values(statuses).reduce((sum, count) => sum + count, 0);
      if (requests > 0) log.info({ address, requests, statuses }, 'further requests without a valid key');
    }
  }

  return {
    /** Counts a request without a valid key. Returns true if it should be logged by itself. */
    count(request: FastifyRequest, status: number): boolean {
      const address = clientAddress(request.raw);
      const network = address === undefined ? others : clientNetwork(address);
      const name = networks.has(network) || networks.size < maxNetworks ? network : others;
      let seen = networks.get(name);
      if (!seen) networks.set(name, (seen = { lines: 0, statuses: {} }));
      timer ??= clock.after(minuteMs, flush);
      if (seen.lines++ < maxLines) return true;
      seen.statuses[status] = (seen.statuses[status] ?? 0) + 1;
      return false;
    },
    /** Logs the sums so far. */
    flush,
  };
}
