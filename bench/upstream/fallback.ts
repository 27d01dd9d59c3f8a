// Replacement for upstream.c without a C compiler: the same paths and statistics at many times the cost.
// Reports name the upstream that was used.
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

let [slots = 64, delayMs = 50, tokens = 50, gapMs = 10] = process.argv.slice(2).map(Number);
let sigma = 0;

const fresh = () => ({
  total: 0,
  refused: 0,
  cut: 0,
  hung: 0,
  maxActive: 0,
  maxQueued: 0,
  busy: 0,
  lost: 0,
  changed: 0,
  first: 0,
  last: 0,
});
let stats = fresh();
let active = 0;
const queue: (() => void)[] = [];

const head = { id: 'chatcmpl-9f8e7d6c5b4a', created: 1_790_000_000, model: 'upstream-model' };
const answer = JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'word '.repeat(30) },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: {
    prompt_tokens: 42,
    completion_tokens: 36,
    total_tokens: 78,
    prompt_tokens_details: { cached_tokens: 0 },
  },
});

function change(by: number): void {
  const now = performance.now();
  if (stats.first === 0) stats.first = stats.changed = now;
  stats.busy += active * (now - stats.changed);
  stats.changed = stats.last = now;
  active += by;
  stats.maxActive = Math.max(stats.maxActive, active);
}

type Fate = 'answer' | 'cut' | 'hang';

function enter(response: ServerResponse, fate: Fate): void {
  change(1);
  const entered = performance.now();
  const leave = () => {
    change(-1);
    if (fate !== 'answer') stats.lost += performance.now() - entered;
    if (active < slots) queue.shift()?.();
  };
  if (fate === 'hang')
    return void response.on('close', () => {
      stats.hung++;
      leave();
    });
  setTimeout(() => {
    leave();
    if (fate === 'answer') return complete(response);
    stats.total++;
    stats.cut++;
    response.socket?.resetAndDestroy();
  }, nextDelay());
}

function refuse(response: ServerResponse): void {
  stats.refused++;
  response.writeHead(429, { 'retry-after': '1' }).end('{"error":{"message":"every slot is taken"}}');
}

/** Lognormal with the mean `delayMs`. */
function nextDelay(): number {
  const normal = Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  return delayMs * Math.exp(sigma * normal - sigma ** 2 / 2);
}

function complete(response: ServerResponse): void {
  stats.total++;
  response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
}

function event(n: number): string {
  const choices = [
    { index: 0, delta: { content: ` word${n}` }, finish_reason: n === tokens - 1 ? 'stop' : null },
  ];
  return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices })}\n\n`;
}

const usage = { prompt_tokens: 42, completion_tokens: tokens, total_tokens: 42 + tokens };
const tail = `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage })}\n\ndata: [DONE]\n\n`;

function stream(response: ServerResponse, paced: boolean): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (!paced) return void response.end(Array.from({ length: tokens }, (_, n) => event(n)).join('') + tail);
  let n = 0;
  const timer = setInterval(() => {
    if (n < tokens) {
      response.write(event(n++));
      return;
    }
    clearInterval(timer);
    response.end(tail);
  }, gapMs);
  response.on('close', () => clearInterval(timer));
}

function tell(response: ServerResponse, query: URLSearchParams): void {
  const spanMs = stats.last - stats.first;
  const body = {
    total: stats.total,
    refused: stats.refused,
    cut: stats.cut,
    hung: stats.hung,
    slots,
    active,
    max_active: stats.maxActive,
    max_queued: stats.maxQueued,
    busy_slot_ms: stats.busy,
    lost_slot_ms: stats.lost,
    span_ms: spanMs,
    utilisation: spanMs > 0 ? stats.busy / (slots * spanMs) : 0,
    first_epoch_ms: stats.first + performance.timeOrigin,
    last_epoch_ms: stats.last + performance.timeOrigin,
  };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (!query.has('reset')) return;
  slots = Number(query.get('slots') ?? slots);
  delayMs = Number(query.get('delay') ?? delayMs);
  sigma = Number(query.get('sigma') ?? sigma);
  stats = fresh();
}

function serve(path: string, query: URLSearchParams, response: ServerResponse): void {
  const kind = path.split('/')[1];
  if (kind === 'stats') tell(response, query);
  else if (path.endsWith('/models')) response.writeHead(404).end();
  else if (kind === 'fast') complete(response);
  else if (kind === 'burst' || kind === 'paced') stream(response, kind === 'paced');
  else if (kind !== 'delay' && kind !== 'refuse' && kind !== 'trouble') response.writeHead(404).end();
  else work(kind, response);
}

function work(kind: 'delay' | 'refuse' | 'trouble', response: ServerResponse): void {
  const chance = kind === 'trouble' ? Math.random() : 1;
  if (chance < 0.01) return refuse(response);
  const fate = chance < 0.015 ? 'cut' : chance < 0.016 ? 'hang' : 'answer';
  if (active < slots) enter(response, fate);
  else if (kind === 'refuse') refuse(response);
  else {
    queue.push(() => enter(response, fate));
    stats.maxQueued = Math.max(stats.maxQueued, queue.length);
  }
}

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    serve(pathname, searchParams, response);
  });
});
server.listen(0, '127.0.0.1', () =>
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })),
);
process.stdin.resume().on('end', () => process.exit(0));
