import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { routes } from '../../src/server/routes/routes.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { send, startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.ts';
import { freePort } from '../support/free-port.ts';
import { adminKey, install, processKey } from '../support/server-process.ts';
import type { Installation, ServerProcess } from '../support/server-process.ts';
import { startCollector } from '../support/trace-collector.ts';

// Every secret of a server is a canary: none may appear in a log at its most detailed level, in the data folder, a backup, the
// metrics, the traces or an answer, except the one that creates it. Clients send their keys to every route, where they do not belong, too.

const canary = (name: string) => `${name}-canary-${'aB3dE5gH7jK9'.repeat(3)}`;
const upstreamKey = canary('upstream');
const header = canary('header');
const salt = canary('salt');
const hubToken = canary('hub');
const collectorKey = canary('collector');
const secretsKeys = [canary('secrets'), canary('accepted')];
const configured = [processKey, adminKey, upstreamKey, header, salt, hubToken, collectorKey, ...secretsKeys];
const made: string[] = [];

let upstream: FakeUpstream;
let collector: Awaited<ReturnType<typeof startCollector>>;
let installation: Installation;
let server: ServerProcess;
let metricsPort: number;

beforeAll(async () => {
  // An upstream that repeats in its errors all that it was sent.
  upstream = await startFakeUpstream((response, { headers, text }) =>
    send(response, text.includes('refuse') ? 400 : 500, {
      error: { message: `No: ${JSON.stringify(headers)} ${text}`, type: 'error', code: header },
    }),
  );
  collector = await startCollector();
  metricsPort = await freePort();
  installation = install(`
metrics: { port: ${metricsPort} }
tracing: { endpoint: "${collector.url}", headers: { x-key: "\${COLLECTOR}" }, sample: 1 }
hub: { token: "\${HUB}" }
secrets_key: "\${SECRETS}"
accepted_secrets_keys: ["\${ACCEPTED}"]
models:
  - id: tiny
    aliases: [default]
    serves: [chat, embeddings]
    engine: { kind: openai, flavor: vllm, url: "${upstream.url}", api_key: "\${KEY}", headers: { x-team: "\${HEADER}" }, cache_salt: "\${SALT}" }
`);
  server = await installation.start({
    flags: ['--log-level', 'trace'],
    env: {
      KEY: upstreamKey,
      HEADER: header,
      SALT: salt,
      HUB: hubToken,
      COLLECTOR: collectorKey,
      SECRETS: secretsKeys[0]!,
      ACCEPTED: secretsKeys[1]!,
    },
  });
});
afterAll(async () => {
  await installation?.remove();
  await upstream?.close();
  await collector?.close();
});

async function call(method: string, path: string, key: string, body?: string): Promise<string> {
  const response = await fetch(server.url + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'x-api-key': key,
      'x-client-request-id': key,
      'user-agent': key,
      cookie: `session=${key}`,
      'content-type': 'application/json',
    },
    ...(body !== undefined && { body }),
    signal: AbortSignal.timeout(60_000),
  });
  return response.text();
}

/** Secrets, of these, whose first half a text contains. */
const found = (text: string | Buffer, secrets: readonly string[]) =>
  secrets.filter((secret) => text.includes(secret.slice(0, Math.ceil(secret.length / 2))));

function filesWith(folder: string, secrets: readonly string[]): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => found(readFileSync(path), secrets).length > 0);
}

it('C01, C04: no secret is in a log, an error, the metrics, the traces, the database or a backup', async () => {
  const org = JSON.parse(await call('POST', '/v1/admin/orgs', adminKey, '{"name":"a"}')) as { id: string };
  for (let n = 0; n < 20; n++) {
    const body = JSON.stringify({ org_id: org.id, name: `key ${n}` });
    made.push((JSON.parse(await call('POST', '/v1/admin/keys', adminKey, body)) as { key: string }).key);
  }
  for (let n = 0; n < 5; n++) {
    const body = '{"url":"https://93.184.216.34/"}';
    const { id, signing_secret: secret } = JSON.parse(
      await call('POST', '/v1/webhooks', processKey, body),
    ) as Record<string, string>;
    made.push(secret!.slice('whsec_'.length));
    const rotated = JSON.parse(await call('POST', `/v1/webhooks/${id}/rotate`, processKey)) as typeof org & {
      signing_secret: string;
    };
    made.push(rotated.signing_secret.slice('whsec_'.length));
  }

  const messages = [{ role: 'user', content: 'Hi.' }];
  const bodies = [
    JSON.stringify({ model: 'tiny', messages, input: 'Hi.', prompt: 'Hi.', max_tokens: 9 }),
    JSON.stringify({ model: 'tiny', messages, input: 'refuse', stream: true, max_tokens: 9 }),
    `{"model":"${upstreamKey}","${made[0]}":1`,
  ];
  // Sealing all secrets anew would hide one that was stored in clear.
  const others = routes.filter(({ path }) => path !== '/v1/admin/secrets/rotate');
  for (const { method, path, access, docs } of others) {
    const key = access.startsWith('admin') ? adminKey : processKey;
    // A stream of all batches does not end by itself.
    const isEndless = docs.answer.type === 'text/event-stream' && !path.includes(':');
    const wrongKeys = [made[0]!, upstreamKey];
    for (const each of [key, ...wrongKeys]) {
      const withKey = path.replaceAll(/:\w+/g, each);
      for (const body of docs.body === undefined ? [undefined] : bodies) {
        const answer = await call(method, `${withKey}?limit=${each}`, each, body);
        // A client may get back what it sent, and nothing else.
        const own = [each, ...(body === undefined ? [] : [upstreamKey, made[0]!])];
        const foreign = [...configured, ...made].filter((secret) => !own.includes(secret));
        expect([method, path, found(answer, foreign)]).toEqual([method, path, []]);
        if (each === key && !isEndless) {
          const plain = await call(method, path.replaceAll(/:\w+/g, 'x'), each, body);
          const sent = body?.includes(upstreamKey) ? foreign : [...configured, ...made];
          expect([method, path, found(plain, sent)]).toEqual([method, path, []]);
        }
      }
    }
  }
  const lists = ['keys', 'orgs', 'secrets'].map((name) => call('GET', `/v1/admin/${name}`, adminKey));
  expect(found((await Promise.all(lists)).join(), [...configured, ...made])).toEqual([]);

  const all = [...configured, ...made];
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  expect(metrics).toContain('offpeak_');
  expect(found(metrics, all)).toEqual([]);
  const backup = join(installation.folder, 'backup');
  const env = { OFFPEAK_API_KEY: processKey };
  const copied = await runCli(['backup', backup, '--data', installation.data], { env, cwd: backup });
  expect(copied.code, copied.err).toBe(0);
  await server.end('SIGTERM');
  for (const folder of [installation.data, backup]) expect(filesWith(folder, all)).toEqual([]);
  const traces = collector.requests.map(({ text }) => text).join();
  expect(traces).toContain('/v1/chat/completions');
  expect(found(traces, all)).toEqual([]);
  const log = server.stderr();
  // It saw the requests, and the upstream saw the secrets.
  expect(log.split('\n').length).toBeGreaterThan(routes.length * 3);
  const sent = upstream.received.map(({ headers }) => JSON.stringify(headers)).join();
  expect(found(sent, configured)).toEqual([upstreamKey, header]);
  expect(found(log, all)).toEqual([]);
});
