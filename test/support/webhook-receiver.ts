import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from './until.ts';

export interface Delivery {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** HTTP endpoint that receives webhooks. */
export interface WebhookReceiver {
  url: string;
  /** Deliveries, oldest first. */
  received: Delivery[];
  /** Answers the deliveries; 200 by default. */
  answer: (response: ServerResponse, request: Delivery) => void;
  /** Resolves when `count` deliveries have arrived. */
  waitFor(count: number): Promise<Delivery[]>;
  close(): Promise<void>;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const delivery = { path: request.url ?? '', headers: request.headers, body };
      receiver.received.push(delivery);
      receiver.answer(response, delivery);
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
