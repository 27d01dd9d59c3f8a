// Model server with continuous batching over HTTP, on the clock of this machine: the step model of test/support/batching-server.ts.
//
//   batching.ts CURVE [tokens_per_event]
//
// CURVE is a name in test/support/batching-curves.ts. Prints {"port":N} and serves on 127.0.0.1 until its standard input closes:
//
//   POST .../chat/completions  an answer of `max_completion_tokens` (or `max_tokens`) tokens, streamed on request
//   GET  /stats                span_ms: from the first request to the last answer since the previous call
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { keepAliveClock } from '../../src/base/system.ts';
import * as curves from '../../test/support/batching-curves.ts';
import { type BatchingCurve, createBatchingServer } from '../../test/support/batching-server.ts';
import { tokensOf } from '../../test/support/batching-engine.ts';

const [name = '', tokensPerEvent = '1'] = process.argv.slice(2);
const curve = (curves as unknown as Record<string, BatchingCurve>)[name];
if (!curve?.steps) throw new Error(`no such curve: ${name}`);
const engine = createBatchingServer(keepAliveClock, curve);
let [firstAt, lastAt] = [0, 0];

const head = { id: 'chatcmpl-9f8e7d6c5b4a', created: 1_790_000_000, model: 'upstream-model' };

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function chat(body: string, response: ServerResponse): Promise<void> {
  if (engine.isFull) return reply(response, 429, { error: { message: 'every place is taken' } });
  const { stream, max_tokens, ...request } = JSON.parse(body);
  const { prompt, tokens } = tokensOf({ max_completion_tokens: max_tokens, ...request });
  firstAt ||= performance.now();
  const gone = new AbortController();
  response.on('close', () => gone.abort(new Error('the client left')));
  const event = (data: object) =>
    response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...data })}\n\n`);
  let made = 0;
  const onToken = () => {
    if (++made % Number(tokensPerEvent) > 0 && made < tokens) return;
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
    const finish_reason = made < tokens ? null : 'length';
    event({ choices: [{ index: 0, delta: { content: ` word${made}` }, finish_reason }] });
  };
  await engine.run({ prompt, tokens, signal: gone.signal, ...(stream && { onToken }) });
  lastAt = performance.now();
  const usage = { prompt_tokens: prompt, completion_tokens: tokens, total_tokens: prompt + tokens };
  if (stream) {
    event({ choices: [], usage });
    return void response.end('data: [DONE]\n\n');
  }
  const message = { role: 'assistant', content: 'word '.repeat(tokens) };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'length' }];
  reply(response, 200, { ...head, object: 'chat.completion', choices, usage });
}

const server = createServer((request, response) => {
  if (request.url === '/stats') {
    reply(response, 200, { span_ms: lastAt - firstAt });
    return void (firstAt = 0);
  }
  if (!request.url?.endsWith('/chat/completions')) return void response.writeHead(404).end();
  // The client left.
  text(request)
    .then((body) => chat(body, response))
    .catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () =>
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })),
);
process.stdin.resume().on('end', () => process.exit(0));
