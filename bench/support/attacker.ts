// Process that attacks a server until it is stopped: a closed loop on each connection, or bursts of pipelined requests. It discards
// the answers and prints their statuses at its end. A process of its own, with a low priority, so that it takes little of the
// time of the process that measures the others.
import { connect } from 'node:net';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { requestBytes } from './connection.ts';
import type { Attack, AttackRequest } from './attacks.ts';

setPriority(10);
const { port, connections, burst, requests, isFlood } = JSON.parse(process.argv[2] ?? '') as Attack & {
  port: number;
};
const afterRefusalMs = 200;
const statuses: Record<string, number> = {};
const note = (status: string) => (statuses[status] = (statuses[status] ?? 0) + 1);
let at = 0;
const next = (): AttackRequest => requests[at++ % requests.length]!;

if (burst === undefined) {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, headersTimeout: 0, bodyTimeout: 0 });
  for (let n = 0; n < connections; n++) void loop(pool);
} else for (let n = 0; n < connections; n++) flood(burst);

console.log('attacking');
process.once('SIGTERM', () => {
  console.log(JSON.stringify(statuses));
  process.exit(0);
});

async function loop(pool: Pool): Promise<void> {
  for (;;) {
    const { method, path, headers = {}, body, file } = next();
    const content = file === undefined ? (body ?? null) : upload(file);
    try {
      const answer = await pool.request({ method, path, headers, body: content });
      note(String(answer.statusCode));
      await answer.body.dump({ limit: 2 ** 30 });
      if (answer.statusCode >= 400 && !isFlood) await sleep(afterRefusalMs);
    } catch (error) {
      note((error as { code?: string }).code ?? 'failed');
      await sleep(afterRefusalMs);
    }
  }
}

/** Keeps `size` requests unanswered on a connection, and opens another one when the server closes it. */
function flood(size: number): void {
  const bytes = Buffer.concat(Array.from({ length: size }, () => requestBytes(next())));
  const socket = connect({ port, host: '127.0.0.1' });
  let unanswered = 0;
  const send = () => {
    if (unanswered > 0 || !socket.writable) return;
    unanswered = size;
    socket.write(bytes);
  };
  socket.on('connect', send);
  socket.on('data', (part) => {
    for (const [, status] of part.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3})/g)) {
      note(status!);
      unanswered--;
    }
    send();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    note('closed');
    setTimeout(() => flood(size), 10);
  });
}

/** Body of an upload of one file of many short lines. */
function upload(bytes: number): Buffer {
  const line = `{"custom_id":"%","method":"POST","url":"/v1/chat/completions","body":{"model":"bench","messages":[{"role":"user","content":"${'x'.repeat(4_000)}"}]}}\n`;
  const lines: string[] = [];
  for (let n = 0, size = 0; size + line.length + 8 < bytes; n++, size += line.length + 6)
    lines.push(line.replace('%', `r${n}`));
  return Buffer.from(
    `--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="x.jsonl"\r\n\r\n${lines.join('')}\r\n--b--\r\n`,
  );
}
