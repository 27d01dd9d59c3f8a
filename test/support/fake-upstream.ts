import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  /** Body as received. */
  text: string;
  /** Number of its connection, from 0. */
  connection: number;
  /** True if the client disconnected before the answer was complete. */
  aborted: boolean;
}

export type Responder = (response: ServerResponse, request: Received) => unknown;

/** Upstream in this process whose answers a test controls. */
export interface FakeUpstream {
  /** Ends in `/v1`. */
  url: string;
  port: number;
  received: Received[];
  answer: Responder;
  /** Answers `GET /models`, the health probe; null for an empty list, which `received` does not record. */
  models: Responder | null;
  close(): Promise<void>;
}

export async function startFakeUpstream(answer: Responder = complete()): Promise<FakeUpstream> {
  const connections = new Map<unknown, number>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { url: path = '', headers, socket } = request;
      if (!connections.has(socket)) connections.set(socket, connections.size);
      const connection = connections.get(socket) ?? -1;
      const text = Buffer.concat(parts).toString();
      if (path.endsWith('/models') && fake.models === null) return send(response, 200, { data: [] });
      const received: Received = { path, headers, text, connection, aborted: false };
      response.on('close', () => (received.aborted = !response.writableFinished));
      fake.received.push(received);
      (path.endsWith('/models') && fake.models ? fake.models : fake.answer)(response, received);
    });
  });
  // Keeps idle connections open during slow tests.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const fake: FakeUpstream = {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    received: [],
    answer,
    models: null,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return fake;
}

/** Returns a chat completion; `more` overrides top-level fields. */
export function completion(content = 'Hello there.', more: object = {}): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'real-name',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
    ...more,
  };
}

export function complete(content?: string, more?: object): Responder {
  return (reply, { path }) => {
    const isMessage = path.endsWith('/messages');
    const other = isMessage ? message(content) : completion(content, more);
    send(reply, 200, path.endsWith('/responses') ? responseObject(content) : other);
  };
}

/** Returns the same answer as a response of /v1/responses. */
export function responseObject(text = 'Hello there.', more: object = {}): object {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  return {
    id: 'resp_theirs',
    object: 'response',
    created_at: 5,
    model: 'real-name',
    status: 'completed',
    error: null,
    store: false,
    output: [{ id: 'msg_theirs', type: 'message', status: 'completed', role: 'assistant', content }],
    usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
    ...more,
  };
}

/** Returns the same answer as a message of /v1/messages. */
export function message(text = 'Hello there.', more: object = {}): object {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'real-name',
    content: [{ type: 'text', text, citations: null }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 9, output_tokens: 3 },
    ...more,
  };
}

export function send(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(text);
}

/** Returns a `data:` event of a stream. */
export function frame(delta: object, finish: string | null = null, index = 0): string {
  const choices = [{ index, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`;
}

export const usageFrame = `data: ${JSON.stringify({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [],
  usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
})}\n\n`;

/** Streams these pieces as an event stream. */
export function streamed(pieces: (string | Buffer)[]): Responder {
  return async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) {
      response.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  };
}
