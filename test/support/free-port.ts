import { once } from 'node:events';
import { createServer } from 'node:net';

// Spread by process id, because parallel test processes have consecutive ids. Above the last port that `fetch` blocks
// (10080) and below the ephemeral range (from 32768).
let next = 11_000 + ((process.pid * 37) % 20_000);

/**
 * Returns a free port that stays free until it is used: it is below the ephemeral range, and no other process starts its
 * search nearby.
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
