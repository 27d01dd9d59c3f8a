import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { completion } from '../../support/fake-upstream.ts';
import { ask, call, engineAt } from './setup.ts';

// Server with a self-signed certificate, which exists only for this test.

const read = (name: string) => readFileSync(new URL(`tls/${name}`, import.meta.url), 'utf8');
const certificate = read('certificate.pem');

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

it('is accepted only where the configuration names its issuer', async () => {
  const server = createServer({ key: read('key.pem'), cert: certificate }, (_, response) =>
    response.end(JSON.stringify(completion('hello'))),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const trusting = engineAt(url, { ca: certificate });
  const doubting = engineAt(url);
  closing.push(
    () => trusting.stop(),
    () => doubting.stop(),
  );
  const body = await trusting.generate(ask(), call());
  expect(body.choices[0]?.message.content).toBe('hello');
  await expect(doubting.generate(ask(), call())).rejects.toMatchObject({ code: 'upstream_unreachable' });
});
