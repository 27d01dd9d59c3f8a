import { connect } from 'node:net';

export interface RequestSpec {
  method?: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

/** Connection that stays open, for one request at a time. */
export interface Connection {
  /** Sends the bytes of `requestBytes`; resolves to the response with its head, as Latin-1. */
  ask(request: Buffer): Promise<string>;
  close(): void;
}

/** Returns the bytes of a request, for repeated use. */
export function requestBytes({ method = 'POST', path, headers, body = '' }: RequestSpec): Buffer {
  const length = String(Buffer.byteLength(body));
  const all = { host: '127.0.0.1', 'content-type': 'application/json', ...headers, 'content-length': length };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

/** Connects with a plain socket, so that the load costs little compared with the measured process. */
export function connectTo(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let received = '';
    let settle: { resolve: (answer: string) => void; reject: (error: Error) => void } | undefined;
    const fail = (error: Error) => (settle?.reject ?? reject)(error);

    socket.on('connect', () =>
      resolve({
        ask(request) {
          received = '';
          socket.write(request);
          return new Promise((answered, failed) => (settle = { resolve: answered, reject: failed }));
        },
        close: () => socket.destroy(),
      }),
    );
    socket.on('error', fail);
    socket.on('close', () => fail(new Error('the server closed the connection')));
    socket.on('data', (part) => {
      received += part.toString('latin1');
      if (isWhole(received)) settle?.resolve(received);
    });
  });
}

/** True at the end given by content-length or by the empty chunk. */
function isWhole(answer: string): boolean {
  const head = answer.indexOf('\r\n\r\n');
  if (head < 0) return false;
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(answer.slice(0, head)) ?? [];
  if (length === undefined) return answer.endsWith('\r\n0\r\n\r\n');
  return answer.length >= head + 4 + Number(length);
}
