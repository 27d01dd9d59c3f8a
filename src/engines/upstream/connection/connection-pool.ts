import type { Client } from 'undici';

/** One to the server, for one request at a time. When it was closed it opens itself anew. */
export interface Connection {
  client: Client;
  /** Connections are counted as they are opened. */
  number: number;
}

/** Who is lent a connection. */
export interface Borrower {
  use(connection: Connection): void;
}

/**
 * The connections to one server. Of those that are free the oldest is used, so that those which only a rush needed stay behind
 * and close by themselves. Who has one gives it back, whatever became of it: nothing has to be looked for among many.
 */
export class ConnectionPool {
  readonly #open: () => Client;
  readonly #most: number;
  readonly #all: Connection[] = [];
  /** The oldest last; while there is much to do, it is empty or nearly so. */
  readonly #free: Connection[] = [];
  readonly #waiting: Borrower[] = [];
  #isClosed = false;

  /** @param most connections at once */
  constructor(open: () => Client, most: number) {
    this.#open = open;
    this.#most = most;
  }

  /** Lends a connection: at once where one is free or may be opened, else when one comes back. */
  lend(borrower: Borrower): void {
    const connection = this.#free.pop() ?? (this.#all.length < this.#most ? this.#more() : undefined);
    if (connection) borrower.use(connection);
    else this.#waiting.push(borrower);
  }

  /**
   * Its request is over. Who waits is lent it in a moment: undici, which is telling of the end, does not bear to be sent
   * another request meanwhile, and thousands who no longer want it would each call the next.
   */
  takeBack(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next) return queueMicrotask(() => next.use(connection));
    let at = this.#free.length;
    while (at > 0 && this.#free[at - 1]!.number < connection.number) at--;
    this.#free.splice(at, 0, connection);
  }

  /** Fails what is in flight, and what is sent later, with an error of undici (`UND_ERR_DESTROYED`). */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#all.map(({ client }) => client.destroy()));
  }

  #more(): Connection {
    const connection = { client: this.#open(), number: this.#all.length };
    this.#all.push(connection);
    if (this.#isClosed) void connection.client.destroy();
    return connection;
  }
}
