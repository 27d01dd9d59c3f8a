import { ApiError } from '../../../core/errors.ts';
import { createTransport, type Transport, type TransportOptions } from './transport.ts';
import type { Timeouts } from './timeouts.ts';

/** The connections to one server, which may be opened again after they were closed. */
export interface Connections {
  /** @throws ApiError `shutting_down` where they are closed */
  readonly work: Transport;
  /** Beside the work, for questions that must not wait until a connection is free: few, and soon over. @throws like `work` */
  readonly beside: Transport;
  /** `work`; undefined where they are closed. */
  readonly open: Transport | undefined;
  reopen(): void;
  /** Fails all calls in flight. */
  close(): Promise<void>;
}

export interface ConnectionsOptions extends Omit<TransportOptions, 'connections' | 'longest'> {
  /** Of questions beside the work. */
  besideTimeouts: Timeouts;
}

/** What a server tells of itself is no longer, models of a large gateway included. */
const longestTold = 4 * 1024 * 1024;

/** Opens them. */
export function createConnections({ besideTimeouts, ...options }: ConnectionsOptions): Connections {
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
    get work() {
      return connected().work;
    },
    get beside() {
      return connected().beside;
    },
    get open() {
      return open?.work;
    },
    reopen() {
      open ??= connect();
    },
    async close() {
      const closing = open;
      open = undefined;
      await Promise.all([closing?.work.close(), closing?.beside.close()]);
    },
  };
}
