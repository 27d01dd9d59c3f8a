import { afterEach, beforeEach, expect, it } from 'vitest';
import { chatLines } from '../support/batch-lines.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import type { WebhookReceiver } from '../support/webhook-receiver.ts';
import { install, scriptedYaml } from '../support/server-process.ts';
import type { Installation } from '../support/server-process.ts';

// The server dies between the delivery of an event and the answer of the receiver. The same event is sent again.

let place: Installation;
let receiver: WebhookReceiver;
beforeEach(async () => {
  place = install(scriptedYaml({ more: 'egress: { allow: [127.0.0.1] }\n' }));
  receiver = await startWebhookReceiver();
});
afterEach(async () => {
  await place.remove();
  await receiver.close();
});

it.each(['SIGKILL', 'SIGTERM'] as const)(
  'F44: a server ended by %s during a delivery sends the same event again after its start, and once',
  async (signal) => {
    const first = await place.start();
    const { id } = await first.api.post<{ id: string }>('/v1/webhooks', { url: receiver.url });
    receiver.answer = () => {};
    const batch = await first.api.createBatch({ requests: chatLines(2) });
    await receiver.waitFor(1);
    await first.end(signal);

    receiver.answer = (response) => void response.end();
    const second = await place.start();
    const [before, after] = await receiver.waitFor(2);
    expect(JSON.parse(before!.body)).toMatchObject({ type: 'batch.completed', data: { id: batch.id } });
    expect(after!.body).toBe(before!.body);
    expect(after!.headers['webhook-id']).toBe(before!.headers['webhook-id']);
    await expect
      .poll(() => second.api.get(`/v1/webhooks/${id}/deliveries`))
      .toMatchObject({ data: [{ status: 'delivered', attempts: 2 }] });
    await second.end('SIGKILL');

    // Pending deliveries are sent at the start, before the next event.
    const third = await place.start();
    const next = await third.api.createBatch({ requests: chatLines(2) });
    const [, , last] = await receiver.waitFor(3);
    expect(JSON.parse(last!.body)).toMatchObject({ data: { id: next.id } });
  },
);
