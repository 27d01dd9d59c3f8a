import { ApiError } from '../../../core/errors.ts';
import { createTransport, type TransportOptions } from './transport.ts';
import type { Timeouts } from './timeouts.ts';

export type Connections = ReturnType<typeof createConnections>;

export interface ConnectionsOptions extends Omit<TransportOptions, 'connections' | 'longest'> {
  /** Of questions beside the work. */
  besideTimeouts: Timeouts;
}

/** What a server tells of itself is no longer, models of a large gateway included. */
const longestTold = 4 * 1024 * 1024;

/** The connections to one server, which may be opened again after they were closed. */
export function createConnections({ besideTimeouts, ...options }: ConnectionsOptions) {
  const { origin, ca, headers, clock } = options;
  const connect = () => ({
    work: createTransport({ ...options, connections: null }),
    beside: createTransport({
      origin,
      ca,
      headers,
      clock,
      connections: 2,
      timeouts: besideTimeouts,
      longest: longestTold,
    }),
  });
  let open: ReturnType<typeof connect> | undefined = connect();

  function connected() {
    if (!open) throw new ApiError('shutting_down', 'The engine is being stopped.');
    return open;
  }

  return {
    /** @throws ApiError `shutting_down` where they are closed */
    get work() {
      return connected().work;
    },
    /** Beside the work, for questions that must not wait until a connection is free: few, and soon over. @throws like `work` */
    get beside() {
      return connected().beside;
    },
    /** `work`; undefined where they are closed. */
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
      await Promise.all([closing?.work.close(), closing?.beside.close()]);
    },
  };
}
