import { connect } from 'node:net';

export interface LoadOptions {
  port: number;
  path: string;
  headers: Record<string, string>;
  body: string;
  connections: number;
  /** Requests in all. */
  requests: number;
}

export interface LoadResult {
  seconds: number;
  /** Answers other than 200. */
  failures: number;
}

/**
 * A closed loop: each connection sends its next request when the last was answered. Plain sockets, so that the load costs
 * a fraction of what it measures. Answers must carry a content-length.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const request = requestBytes(options);
  const left = { value: options.requests };
  const began = performance.now();
  const loops = Array.from({ length: options.connections }, () => loop(options.port, request, left));
  const failures = (await Promise.all(loops)).reduce((sum, count) => sum + count, 0);
  return { seconds: (performance.now() - began) / 1000, failures };
}

function requestBytes({ path, headers, body }: LoadOptions): Buffer {
  const all = { host: '127.0.0.1', 'content-type': 'application/json', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = Buffer.byteLength(body);
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}content-length: ${length}\r\n\r\n${body}`);
}

function loop(port: number, request: Buffer, left: { value: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let failures = 0;
    let received = '';
    const next = () => {
      if (left.value-- > 0) socket.write(request);
      else {
        socket.end();
        resolve(failures);
      }
    };
    socket.on('connect', next);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed the connection')));
    socket.on('data', (part) => {
      received += part.toString('latin1');
      const head = received.indexOf('\r\n\r\n');
      if (head < 0) return;
      const [, announced] = /\r\ncontent-length: *(\d+)/i.exec(received) ?? [];
      if (announced === undefined) throw new Error('an answer without a content-length');
      if (received.length < head + 4 + Number(announced)) return;
      if (!received.startsWith('HTTP/1.1 200')) failures++;
      received = '';
      next();
    });
  });
}
