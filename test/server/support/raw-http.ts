import { connect, type Socket } from 'node:net';

/** Connection on which a test can write what no client library would send. */
export interface RawConnection {
  socket: Socket;
  write(text: string | Uint8Array): void;
  /** Resolves to everything received, once it contains `text`. Rejects when the connection closes first. */
  until(text: string): Promise<string>;
  /** Resolves to everything received when the server closes the connection. */
  closed: Promise<string>;
}

export async function openRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = '';
  const waiting = new Set<() => void>();
  const closed = new Promise<string>((resolve) => {
    socket.on('close', () => {
      resolve(received);
      for (const check of waiting) check();
    });
  });
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    for (const check of waiting) check();
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  return {
    socket,
    closed,
    write: (text) => void socket.write(text),
    until: (text) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (received.includes(text)) resolve(received);
          else if (socket.destroyed) reject(new Error(`closed before "${text}" came: ${received}`));
          else return;
          waiting.delete(check);
        };
        waiting.add(check);
        check();
      }),
  };
}

/** Sends one request as text and returns everything received until the server closes the connection. */
export async function sendRaw(url: string, text: string | Uint8Array): Promise<string> {
  const connection = await openRaw(url);
  connection.write(text);
  const answer = await connection.closed;
  connection.socket.destroy();
  return answer;
}
