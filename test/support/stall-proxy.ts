import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** TCP proxy that can stall: it accepts bytes and forwards nothing. */
export interface StallProxy {
  port: number;
  stalled: boolean;
  close(): void;
}

export async function startStallProxy(targetPort: number): Promise<StallProxy> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const target = connect(targetPort, '127.0.0.1');
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => from.destroy());
      from.on('data', (bytes) => void (line.stalled || to.write(bytes)));
      from.on('end', () => void (line.stalled || to.end()));
    }
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const line: StallProxy = {
    port: (server.address() as AddressInfo).port,
    stalled: false,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return line;
}
