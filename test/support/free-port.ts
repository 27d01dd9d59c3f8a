import { once } from 'node:events';
import { createServer } from 'node:net';

// Spread, as processes that run at the same time have numbers in a row; above the last port that `fetch` refuses (10080)
// and below those that the system hands out (32768 and up).
let next = 11_000 + ((process.pid * 37) % 20_000);

/**
 * A port of this machine that nobody has, and that stays free until it is used: it is below those that the system gives to
 * whoever connects or asks for any, and no other process begins to look near it.
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
