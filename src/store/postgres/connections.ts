import { Socket } from 'node:net';
import type * as Driver from 'pg';
import type { ClientBase, ClientConfig, PoolClient } from 'pg';
import { loadPackage } from '../../base/load-package.ts';
import type { Log } from '../../base/log.ts';
import type { DatabaseUrl } from '../../core/database-url.ts';
import { isLost, isReadOnly } from './errors.ts';
import { openSession, type SessionOptions } from './session.ts';
import { tlsOptions } from './tls.ts';

/** Connections to the server of a URL that takes writes. */
export interface Connections {
  /** A connection of the pool, or a new one. */
  connect(): Promise<PoolClient>;
  end(): Promise<void>;
}

export interface ConnectionOptions extends SessionOptions {
  max: number;
  /** Time in milliseconds to connect, or to get a connection of the pool. */
  connectMs: number;
  /** Time in milliseconds for the answer to a statement. */
  answerMs: number;
}

/** Time to connect to one of several hosts, in milliseconds. */
const hostMs = 5_000;

export function openConnections(url: DatabaseUrl, log: Log, options: ConnectionOptions): Connections {
  // Loaded on first use: the embedded database needs no driver.
  const { Client, Pool, types } = loadPackage('pg') as typeof Driver;
  const { hosts, tls } = url;
  const hasSeveral = hosts.length > 1;
  const socketMs = url.connectMs ?? (hasSeveral ? hostMs : 0);
  const sockets = new Set<Socket>();
  let current = 0;

  /** A connection to the current host. */
  class HostClient extends Client {
    readonly #socket: Socket;
    readonly #fault: unknown;

    constructor(config: ClientConfig) {
      const socket = new Socket();
      const secured = attempt(() => (tls ? tlsOptions(tls) : false));
      super({
        ...config,
        ...hosts[current]!,
        ssl: 'value' in secured && secured.value,
        stream: () => socket,
      });
      this.#socket = socket;
      this.#fault = 'fault' in secured ? secured.fault : undefined;
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      const late = () => socket.destroy(Object.assign(new Error('connect timeout'), { code: 'ETIMEDOUT' }));
      if (socketMs > 0) socket.setTimeout(socketMs).once('timeout', late);
    }

    override connect(callback?: unknown): Promise<this> {
      // The pool passes a callback, and cannot handle an error of the constructor.
      if (this.#fault === undefined) return super.connect(callback as never) as never;
      (callback as (error: unknown) => void)(this.#fault);
      return undefined as never;
    }

    /** Ends the time limit of the connection's start. */
    opened(): void {
      this.#socket.setTimeout(0).removeAllListeners('timeout');
    }
  }

  const pool = new Pool({
    user: url.user,
    password: url.password,
    database: url.database,
    options: url.options,
    application_name: url.applicationName ?? 'offpeak',
    ...(tls?.direct && { sslnegotiation: 'direct' as const }),
    enableChannelBinding: tls?.bindsChannel ?? false,
    Client: HostClient as never,
    max: options.max,
    connectionTimeoutMillis: options.connectMs,
    query_timeout: options.answerMs,
    // BEGIN, and the settings behind a pooler, need no round trip of their own.
    pipeline: true,
    // oxlint-disable-next-line no-misused-promises -- the pool waits for the promise, which its types leave out
    onConnect: async (client: ClientBase) => {
      await openSession(client, { ...options, mustWrite: hasSeveral });
      (client as HostClient).opened();
    },
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: {
      getTypeParser: (type, format) =>
        type === types.builtins.INT8 ? Number : types.getTypeParser(type, format),
    },
  });
  // Statements report lost connections; without listeners, the loss of an idle one would end the process.
  pool.on('error', (error) => log.debug({ err: error }, 'An idle connection to the database was lost.'));
  pool.on('connect', (client) => client.on('error', () => {}));

  return {
    async connect() {
      for (let tries = 1; ; tries++) {
        const tried = current;
        try {
          return await pool.connect();
        } catch (error) {
          if (tries >= hosts.length || !(isLost(error) || isReadOnly(error))) throw error;
          if (tried === current) current = (current + 1) % hosts.length;
        }
      }
    },
    async end() {
      await pool.end();
      // A silent server does not close its side; that must not keep the process alive.
      for (const socket of sockets) socket.unref();
    },
  };
}

function attempt<T>(make: () => T): { value: T } | { fault: unknown } {
  try {
    return { value: make() };
  } catch (fault) {
    return { fault };
  }
}
