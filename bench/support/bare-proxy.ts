// Minimum for a proxy in Node: node:http in, undici out, a key lookup, and JSON parsed and written both ways. Streams
// pass event by event; events that arrive together are forwarded together.
import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { answerFigures } from './measured.ts';
import { apiKey } from './offpeak.ts';

const upstream = new URL(process.argv[2] ?? '');
const pool = new Pool(upstream.origin, {
  connections: 128,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
});
const keys = new Map([[hash('sha256', apiKey), 'org']]);
const models = new Map([['bench-alias', 'upstream-model']]);
const headers = { 'content-type': 'application/json', authorization: 'Bearer upstream-key' };
let made = 0;

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const key = request.headers.authorization?.slice('Bearer '.length) ?? '';
  if (!keys.has(hash('sha256', key))) return void response.writeHead(401).end();
  const chat = JSON.parse(await readBody(request)) as { model: string; stream?: boolean };
  const alias = chat.model;
  chat.model = models.get(alias) ?? alias;
  const path = `${upstream.pathname}/chat/completions`;
  const reply = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(chat) });
  if (chat.stream) return relay(reply.body, alias, response);
  const answer = JSON.parse(await reply.body.text()) as { id: string; model: string };
  answer.model = alias;
  answer.id = `chatcmpl_${made++}`;
  const text = JSON.stringify(answer);
  const length = Buffer.byteLength(text);
  response.writeHead(reply.statusCode, {
    'content-type': 'application/json',
    'content-length': length,
    'x-request-id': `req_${made}`,
  });
  response.end(text);
}

async function relay(body: AsyncIterable<Buffer>, model: string, response: ServerResponse): Promise<void> {
  const id = `chatcmpl_${made++}`;
  const type = 'text/event-stream; charset=utf-8';
  response.writeHead(200, {
    'content-type': type,
    'cache-control': 'no-cache',
    'x-request-id': `req_${made}`,
  });
  let rest = '';
  for await (const part of body) {
    rest += part.toString();
    let out = '';
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const data = rest.slice('data: '.length, end);
      rest = rest.slice(end + 2);
      out += data === '[DONE]' ? 'data: [DONE]\n\n' : `data: ${renamed(data, id, model)}\n\n`;
    }
    if (out !== '') response.write(out);
  }
  response.end();
}

function renamed(data: string, id: string, model: string): string {
  const chunk = JSON.parse(data) as { id: string; model: string };
  chunk.id = id;
  chunk.model = model;
  return JSON.stringify(chunk);
}

const server = createServer((request, response) => {
  serve(request, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => {
  answerFigures();
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
