import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import type { WebhookReceiver } from '../support/webhook-receiver.ts';
import { until } from '../support/until.ts';
import { createClient, sdks } from './clients.ts';

// The unmodified official clients verify the deliveries.

interface WebhookBody {
  id: string;
  signing_secret: string;
}

let running: RunningApp;
let receiver: WebhookReceiver;
beforeAll(async () => {
  running = await startApp({ egress: { allow: ['127.0.0.1'] } });
  receiver = await startWebhookReceiver();
});
afterAll(async () => {
  await receiver?.close();
  await running?.stop();
});

const create = (url: string) => running.api.post<WebhookBody>('/v1/webhooks', { url });
const remove = (id: string) => running.api.send(`/v1/webhooks/${id}`, { method: 'DELETE' });

describe.each(sdks)('$name', ({ sdk }) => {
  it('unwraps batch events and rejects modified ones', async () => {
    const client = createClient(sdk, running);
    receiver.received.length = 0;
    const { id, signing_secret: secret } = await create(receiver.url);
    const completed = await running.api.createBatch({ requests: chatLines(3) });
    const cancelled = await running.api.createBatch({ requests: chatLines(1, () => '[[hang]]') });
    await running.api.post(`/v1/batches/${cancelled.id}/cancel`, {});
    const events = [];
    for (const { body, headers } of await receiver.waitFor(2)) {
      const event = await client.webhooks.unwrap(body, headers, secret);
      expect(event.id).toBe(headers['webhook-id']);
      events.push({ object: event.object, type: event.type, data: event.data });
      for (const [changed, how] of [
        [body.replace('batch_', 'batch-'), headers],
        [body, { ...headers, 'webhook-id': 'evt_other' }],
        [body, { ...headers, 'webhook-timestamp': `${Number(headers['webhook-timestamp']) - 1}` }],
      ] as const)
        await expect(client.webhooks.unwrap(changed, how, secret)).rejects.toThrow(/signature/i);
    }
    const told = (type: string, { id: of }: { id: string }) => ({ object: 'event', type, data: { id: of } });
    expect(events).toHaveLength(2);
    expect(events).toEqual(
      expect.arrayContaining([told('batch.cancelled', cancelled), told('batch.completed', completed)]),
    );
    await remove(id);
  });

  it('unwraps with the old and the new secret after a rotation', async () => {
    const client = createClient(sdk, running);
    receiver.received.length = 0;
    const { id, signing_secret: old } = await create(receiver.url);
    const rotate = () => running.api.post<WebhookBody>(`/v1/webhooks/${id}/rotate`, {});
    const { signing_secret: next } = await rotate();
    await running.api.post(`/v1/webhooks/${id}/test`, {});
    const [{ body, headers }] = (await receiver.waitFor(1)) as [WebhookReceiver['received'][0]];
    const unwrap = (secret: string, of = { body, headers }) =>
      client.webhooks.unwrap(of.body, of.headers, secret);
    for (const secret of [old, next]) expect(await unwrap(secret)).toMatchObject({ type: 'webhook.test' });
    await rotate();
    await running.api.post(`/v1/webhooks/${id}/test`, {});
    const [, second] = (await receiver.waitFor(2)) as [unknown, WebhookReceiver['received'][0]];
    await expect(unwrap(old, second)).rejects.toThrow(/signature/i);
    expect(await unwrap(next, second)).toMatchObject({ type: 'webhook.test' });
    await remove(id);
  });
});

describe('docs/webhooks.md', () => {
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-receiver-'));
  const root = fileURLToPath(new URL('../..', import.meta.url));
  let child: ChildProcess | undefined;
  afterEach(() => {
    child?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('shows a working receiver', async () => {
    const page = readFileSync(join(root, 'docs/webhooks.md'), 'utf8');
    const [, snippet] = /<!-- test: receiver.mjs -->\n```js\n([\s\S]*?)```/.exec(page) ?? [];
    writeFileSync(join(folder, 'receiver.mjs'), snippet!);
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    // The secret is created with the address; until then there is a placeholder.
    const first = await create(receiver.url);
    child = spawn(process.execPath, ['receiver.mjs'], {
      cwd: folder,
      env: { PATH: process.env.PATH, PORT: '0', WEBHOOK_SECRET: first.signing_secret },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let out = '';
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (out += text));
    const port = await until('the receiver listens', () => /listening on (\d+)/.exec(out)?.[1]);
    const url = `http://127.0.0.1:${port}/offpeak`;
    await running.api.send(`/v1/webhooks/${first.id}`, { method: 'PATCH', json: { url } });
    const other = await create(url);
    const batch = await running.api.createBatch({ requests: chatLines(2) });
    await until('the receiver tells', () => out.includes(`${batch.id} is done`));
    const statusOf = async (id: string) => {
      const { data } = await running.api.get<{ data: { last_status_code: number | null }[] }>(
        `/v1/webhooks/${id}/deliveries`,
      );
      return data[0]?.last_status_code;
    };
    expect(await until('it is written down', () => statusOf(first.id))).toBe(204);
    expect(await until('the other is refused', () => statusOf(other.id))).toBe(400);
  });
});
