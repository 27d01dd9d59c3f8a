import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from './until.ts';

export interface Delivery {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Somebody's endpoint for webhooks. */
export interface WebhookReceiver {
  url: string;
  /** All that came, in its order. */
  received: Delivery[];
  /** Answers what comes from now on; 200 at first. Never answering is hanging. */
  answer: (response: ServerResponse, request: Delivery) => void;
  /** Resolves when so many have come. */
  waitFor(count: number): Promise<Delivery[]>;
  close(): Promise<void>;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const came = { path: request.url ?? '', headers: request.headers, body };
      receiver.received.push(came);
      receiver.answer(response, came);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received: [],
    answer: (response) => void response.end(),
    waitFor: (count) =>
      until(`${count} deliveries`, () => receiver.received.length >= count && receiver.received),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
