import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/**
 * Fault for new connections: `none` forwards everything; `reset-before` resets when the request arrives, before the
 * upstream gets it; `reset-during` resets after `bytes` of the answer; `half-close` ends the answer there; `hang` never
 * answers; `hang-during` stops sending after `bytes`; `trickle` forwards one byte every 20 ms; `garbage` answers with
 * bytes that are not HTTP.
 */
export type Fault =
  | 'none'
  | 'reset-before'
  | 'reset-during'
  | 'half-close'
  | 'hang'
  | 'hang-during'
  | 'trickle'
  | 'garbage';

/** TCP proxy in this process that injects faults. */
export interface FaultProxy {
  /** Ends in `/v1`. */
  url: string;
  fault: Fault;
  /** Bytes of the answer that pass before a fault in its middle. */
  bytes: number;
  /** Delay before each piece of the answer. */
  latencyMs: number;
  connections: number;
  close(): Promise<void>;
}

export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    proxy.connections++;
    track(client);
    client.once('data', (first) => serve(client, first));
  });

  function track(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  }

  function serve(client: Socket, first: Buffer): void {
    const { fault } = proxy;
    if (fault === 'hang') return void client.resume();
    if (fault === 'reset-before') return void client.resetAndDestroy();
    if (fault === 'garbage') return void client.end('\u0000\u0001 this is not HTTP \r\n\r\n');
    const upstream = connect(targetPort, '127.0.0.1');
    track(upstream);
    upstream.write(first);
    client.pipe(upstream);
    client.on('close', () => upstream.destroy());
    void answer(upstream, client, fault);
  }

  async function answer(upstream: Socket, client: Socket, fault: Fault): Promise<void> {
    let left = fault === 'none' || fault === 'trickle' ? Infinity : proxy.bytes;
    try {
      for await (const part of upstream as AsyncIterable<Buffer>) {
        if (proxy.latencyMs > 0) await wait(proxy.latencyMs);
        if (fault === 'trickle') await trickle(part, client);
        else if (part.length < left) client.write(part);
        else return void client.write(part.subarray(0, left), () => stop(client, fault));
        left -= part.length;
      }
      client.end();
    } catch {
      client.destroy();
    }
  }

  function stop(client: Socket, fault: Fault): void {
    if (fault === 'reset-during') client.resetAndDestroy();
    if (fault === 'half-close') client.end();
  }

  async function trickle(part: Buffer, client: Socket): Promise<void> {
    for (const byte of part) {
      if (client.destroyed) return;
      client.write(Buffer.of(byte));
      await wait(20);
    }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const proxy: FaultProxy = {
    url: `http://127.0.0.1:${port}/v1`,
    fault: 'none',
    bytes: 0,
    latencyMs: 0,
    connections: 0,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return proxy;
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
