import { ApiError } from '../../../core/errors.ts';
import type { Timeouts } from './timeouts.ts';
import { createTransport, type TransportOptions } from './transport.ts';

export type Connections = ReturnType<typeof createConnections>;

type ConnectionsOptions = Omit<TransportOptions, 'connections' | 'maxBytes'> & { probeTimeouts: Timeouts };

/** Longest reply to a probe: the models of a large gateway fit. */
const maxProbeBytes = 4 * 1024 * 1024;

/** Connections to one server; they can be reopened after they were closed. */
export function createConnections({ probeTimeouts, ...options }: ConnectionsOptions) {
  const { origin, ca, headers, clock } = options;
  const probing = { connections: 2, timeouts: probeTimeouts, maxBytes: maxProbeBytes };
  const connect = () => ({
    work: createTransport({ ...options, connections: null }),
    probes: createTransport({ origin, ca, headers, clock, ...probing }),
  });
  let open: ReturnType<typeof connect> | undefined = connect();

  function connected() {
    if (!open) throw new ApiError('shutting_down', 'The engine is being stopped.');
    return open;
  }

  return {
    /** @throws ApiError `shutting_down` where the connections are closed */
    get work() {
      return connected().work;
    },
    /** Separate connections for probes, which must not wait for work. @throws like `work` */
    get probes() {
      return connected().probes;
    },
    /** Like `work`, but undefined where the connections are closed. */
    get open() {
      return open?.work;
    },
    reopen() {
      open ??= connect();
    },
    /** Fails all calls in flight. */
    async close() {
      const closing = open;
      open = undefined;
      await Promise.all([closing?.work.close(), closing?.probes.close()]);
    },
  };
}
