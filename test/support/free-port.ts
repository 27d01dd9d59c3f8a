import { once } from 'node:events';
import { createServer } from 'node:net';

let next = 10_000 + (process.pid % 20_000);

/**
 * A port of this machine that nobody has, and that stays free until it is used: it is below those that the system gives to
 * whoever connects or asks for any, and no other process begins to look at the same one.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next++;
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
      await new Promise((resolve) => server.close(resolve));
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}
