import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import type { WebhookReceiver } from '../support/webhook-receiver.ts';
import { startServer } from '../server/support/start-server.ts';
import type { RunningServer } from '../server/support/start-server.ts';
import { runCli } from './support/run-cli.ts';

// The commands with a real server and a real receiver.

let app: RunningServer;
let receiver: WebhookReceiver;
beforeAll(async () => {
  app = await startServer();
});
afterAll(() => app.stop());
beforeEach(async () => {
  receiver = await startWebhookReceiver();
});
afterEach(() => receiver.close());

const cli = (...argv: string[]) =>
  runCli(['webhooks', ...argv], {
    fetch,
    env: { OFFPEAK_URL: app.url, OFFPEAK_API_KEY: app.keys.a },
  });
const json = async (...argv: string[]) => JSON.parse((await cli(...argv, '--json')).out);

it('creates, lists, updates, rotates and deletes a webhook', async () => {
  const created = await cli('create', receiver.url, '--name', 'ours', '--events', 'batch.failed');
  expect([created.code, created.err]).toEqual([0, 'Save the secret now: it cannot be shown again.\n']);
  const id = /^id +(wh_\w+)$/m.exec(created.out)![1]!;
  const secret = /^secret +(whsec_\S+)$/m.exec(created.out)![1]!;
  expect((await cli('list')).out).toBe(`${id}\tenabled\t${receiver.url}\tbatch.failed\tours\t\n`);
  const disabled = await cli('update', id, '--disable', '--name', 'theirs');
  expect(disabled.out).toMatch(/^disabled +Disabled by a request\.$/m);
  expect((await cli('update', id, '--enable', '--disable')).code).toBe(1);
  expect(await json('update', id, '--enable', '--to', `${receiver.url}/2`)).toMatchObject({
    enabled: true,
    name: 'theirs',
    url: `${receiver.url}/2`,
    event_types: ['batch.failed'],
  });
  const rotated = await cli('rotate', id);
  expect(rotated.out).toContain('whsec_');
  expect(rotated.out).not.toContain(secret);
  expect((await cli('delete', id)).out).toBe(`Deleted ${id}.\n`);
  expect((await cli('list')).out).toBe('');
});

it('reports the result of a test delivery, also in the exit code, and replays it', async () => {
  const { id } = await json('create', receiver.url);
  const good = await cli('test', id);
  expect([good.code, good.out]).toEqual([0, expect.stringMatching(/^status +delivered$/m)]);
  receiver.answer = (response) => void response.writeHead(404).end();
  const bad = await cli('test', id);
  expect([bad.code, bad.out]).toEqual([1, expect.stringMatching(/^error +The receiver answered 404\.$/m)]);
  const [failed] = (await cli('deliveries', id, '-n', '1')).out.split('\n');
  expect(failed!.split('\t').slice(1)).toEqual([
    'webhook.test',
    id,
    'failed',
    '1',
    '404',
    '',
    'The receiver answered 404.',
  ]);
  receiver.answer = (response) => void response.end();
  const replayed = await json('replay', failed!.split('\t')[0]!);
  const [, second, third] = await receiver.waitFor(3);
  expect(third!.headers['webhook-id']).toBe(second!.headers['webhook-id']);
  expect(replayed.event.id).toBe(second!.headers['webhook-id']);
  await cli('delete', id);
});

it('rejects a URL that no webhook may use, with the reason', async () => {
  const { code, err } = await cli('create', 'https://10.0.0.1/');
  expect(code).toBe(1);
  expect(err).toContain('url: 10.0.0.1 has no public address and is not in egress.allow');
});
