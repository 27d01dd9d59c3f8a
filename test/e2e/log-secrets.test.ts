import { afterAll, beforeAll, expect, it } from 'vitest';
import { send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { install, processKey, upstreamYaml } from '../support/server-process.ts';
import type { Installation, ServerProcess } from '../support/server-process.ts';

// Clients and upstreams may send keys anywhere, and many people read the log.

const upstreamKey = 'corporate.upstream\\key"0123456789';
const madeKey = `sk-offpeak-${'aB3'.repeat(16)}x`;
let upstream: FakeUpstream;
let installation: Installation;
let server: ServerProcess;

beforeAll(async () => {
  upstream = await startFakeUpstream((response) =>
    send(response, 500, {
      error: { message: `no: ${madeKey} for ${upstreamKey} or ${upstreamKey.slice(0, 20)}****` },
    }),
  );
  const yaml = upstreamYaml(upstream.url).replace(
    'model: real-name',
    'api_key: "${UPSTREAM_KEY}", model: real-name',
  );
  installation = install(yaml);
  server = await installation.start({ flags: ['--log-level', 'trace'], env: { UPSTREAM_KEY: upstreamKey } });
});

afterAll(async () => {
  await installation?.remove();
  await upstream?.close();
});

it('C04: no key reaches the log', async () => {
  const ask = (path: string, key: string, body?: object) =>
    fetch(server.url + path, {
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${key}`,
        'x-client-request-id': key,
        'content-type': 'application/json',
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  const chat = { model: 'tiny', messages: [{ role: 'user', content: 'hi' }] };
  for (const key of [processKey, madeKey, upstreamKey]) {
    await ask(`/v1/${key}`, key);
    await ask(`/v1/models/${key}`, key);
    await ask('/v1/chat/completions', key, chat);
  }
  const answer = await ask('/v1/chat/completions', processKey, chat);
  expect(await answer.text()).not.toMatch(/corporate|sk-offpeak/);
  await server.end('SIGTERM');
  const log = server.stderr();
  // Each line is still valid JSON.
  const lines = log
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('Stopping'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.filter(({ client_request_id: id }) => id === '[removed]')).toHaveLength(10);
  expect(lines.some(({ said }) => said === 'no: [removed] for [removed] or [removed]****')).toBe(true);
  for (const secret of [processKey, 'aB3aB3', upstreamKey.slice(0, 12)]) expect(log).not.toContain(secret);
});
