import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Request for a file. */
export interface Hit {
  path: string;
  range: [start: number, end: number] | null;
  authorization: string | undefined;
  /** Bytes of the body that were written to the connection. */
  sent: number;
}

/** File under one path, with the faults to inject. */
export interface ServedFile {
  bytes: Buffer;
  /** By default a strong one made from the length. */
  etag?: string | null;
  headers?: Record<string, string>;
  /** Ignores `Range` and sends the whole file. */
  noRanges?: boolean;
  /** Closes the connection after this many bytes of the body. Called for each request; undefined for no fault. */
  breakAfter?: (hit: Hit, index: number) => number | undefined;
  /** Pauses a body after this many bytes until `release` is called. */
  holdAfter?: number;
  /** Answers with this status instead; undefined for the file. */
  status?: (hit: Hit, index: number) => number | undefined;
  /** Handles the request itself; returns true if it did. */
  answer?: (request: IncomingMessage, response: ServerResponse, hit: Hit) => boolean;
}

export interface ModelServer {
  url: string;
  hits: Hit[];
  files: Map<string, ServedFile>;
  /** Requests for a path, including the one for its first bytes. */
  hitsOf(path: string): Hit[];
  /** Resumes paused bodies, and pauses none from now on. */
  release(): void;
  close(): Promise<void>;
}

/** File server with the behavior and the faults of model hubs and mirrors. */
export async function startModelServer(host = '127.0.0.1'): Promise<ModelServer> {
  const hits: Hit[] = [];
  const files = new Map<string, ServedFile>();
  const held: (() => void)[] = [];
  let released = false;

  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://x').pathname;
    const file = files.get(path);
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    const hit: Hit = {
      path,
      range: range && [Number(range[1]), Number(range[2]) + 1],
      authorization: request.headers.authorization,
      sent: 0,
    };
    const index = hits.filter((one) => one.path === path).length;
    hits.push(hit);
    response.on('error', () => {}).setMaxListeners(0);
    const status = file === undefined ? 404 : file.status?.(hit, index);
    if (file?.answer?.(request, response, hit) === true) return;
    if (status !== undefined) response.writeHead(status, file?.headers).end('Not now.');
    else void send(file!, hit, index, response);
  });

  async function send(file: ServedFile, hit: Hit, index: number, response: ServerResponse): Promise<void> {
    const { bytes } = file;
    const etag = file.etag === undefined ? `"v${bytes.length}"` : file.etag;
    const headers: Record<string, string> = { ...(etag !== null && { etag }), ...file.headers };
    const ranged = hit.range !== null && file.noRanges !== true;
    if (ranged && hit.range![0] >= bytes.length) {
      response.writeHead(416, { ...headers, 'content-range': `bytes */${bytes.length}` }).end();
      return;
    }
    const body = ranged ? bytes.subarray(hit.range![0], hit.range![1]) : bytes;
    if (ranged) {
      const last = hit.range![0] + body.length - 1;
      headers['content-range'] = `bytes ${hit.range![0]}-${last}/${bytes.length}`;
    }
    response.writeHead(ranged ? 206 : 200, { 'content-length': String(body.length), ...headers });
    const breakAt = file.breakAfter?.(hit, index);
    const holdAt = file.holdAfter;
    for (let at = 0; at < body.length; at += 16_384) {
      if (breakAt !== undefined && at >= breakAt) {
        // Flushes the written bytes before the connection closes.
        await new Promise((written) => response.write('', written));
        return void setImmediate(() => response.destroy());
      }
      if (holdAt !== undefined && at >= holdAt && !released) await new Promise<void>((go) => held.push(go));
      const chunk = body.subarray(at, at + 16_384);
      if (response.destroyed) return;
      hit.sent += chunk.length;
      if (!response.write(chunk)) {
        await new Promise<void>((resolve) => {
          response.once('drain', resolve);
          response.once('close', resolve);
        });
      }
    }
    response.end();
  }

  await new Promise<void>((resolve) => void server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://${host}:${port}`;
  return {
    url,
    hits,
    files,
    hitsOf: (path) => hits.filter((hit) => hit.path === path),
    release() {
      released = true;
      for (const go of held.splice(0)) go();
    },
    close() {
      for (const go of held.splice(0)) go();
      server.closeAllConnections();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}
