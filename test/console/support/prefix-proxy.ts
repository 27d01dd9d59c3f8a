import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Reverse proxy that serves a server below a path and removes it, as nginx does with a slash at the end of `proxy_pass`. */
export async function startPrefixProxy(
  target: string,
  prefix: string,
): Promise<{ url: string; strays: string[]; stop(): Promise<void> }> {
  /** Requests outside of the prefix, which belong to other programs. */
  const strays: string[] = [];
  const proxy = createServer((incoming, outgoing) => {
    const { url = '', method, headers } = incoming;
    if (!url.startsWith(`${prefix}/`)) {
      // Browsers ask every host for it.
      if (url === '/favicon.ico') return void outgoing.writeHead(204).end();
      strays.push(url);
      return void outgoing.writeHead(404).end();
    }
    const forwarded = request(target + url.slice(prefix.length), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    outgoing.on('close', () => forwarded.destroy());
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}${prefix}`, strays, stop: () => close(proxy) };
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
