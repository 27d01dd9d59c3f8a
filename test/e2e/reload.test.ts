import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApi } from '../support/api.ts';
import { chatLines } from '../support/batch-lines.ts';
import { complete, startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { freePort } from '../support/free-port.ts';
import { adminKey, install, processKey } from '../support/server-process.ts';
import type { Installation, ServerProcess } from '../support/server-process.ts';
import { until } from '../support/until.ts';

// SIGHUP loads the models of the changed configuration without dropping work in progress.

let installation: Installation;
let server: ServerProcess;
let before: FakeUpstream;
let after: FakeUpstream;

beforeEach(async () => {
  before = await startFakeUpstream(complete('before'));
  after = await startFakeUpstream(complete('after'));
});

afterEach(async () => {
  await installation?.remove();
  await before.close();
  await after.close();
});

const modelYaml = (id: string, url: string, price: number) => `  - id: ${id}
    engine: { kind: openai, flavor: openai, url: "${url}", model: real-name, slots: 4 }
    serves: [chat]
    price: { input: ${price}, output: ${price} }
`;

async function start(yaml: string) {
  installation = install(`models:\n${yaml}`);
  server = await installation.start({ flags: ['--log-level', 'info'] });
}

async function hangUp(yaml: string, told: string) {
  installation.configure(`models:\n${yaml}`);
  const seen = server.stderr().length;
  server.signal('SIGHUP');
  await until(`the log says: ${told}`, () => server.stderr().slice(seen).includes(told));
  return server.stderr().slice(seen);
}

const ask = async (model: string) => {
  const messages = [{ role: 'user', content: 'Hello?' }];
  const { status, text } = await server.api.send('/v1/chat/completions', { json: { model, messages } });
  const body = JSON.parse(text) as { choices?: { message: { content: string } }[] };
  return [status, body.choices?.[0]?.message.content];
};

describe('SIGHUP', () => {
  it('changes the models, while running work ends where it started, at the old price', async () => {
    await start(modelYaml('tiny', before.url, 1) + modelYaml('kept', before.url, 1));
    const held: (() => void)[] = [];
    before.answer = (response, request) => void held.push(() => complete('before')(response, request));
    const running = ask('tiny');
    const lines = chatLines(2).map((line) => ({ ...line, body: { ...line.body, model: 'tiny' } }));
    const { id } = await server.api.createBatch({ requests: lines });
    await until('all are asked', () => held.length === 3);

    const log = await hangUp(
      modelYaml('tiny', after.url, 8) + modelYaml('kept', before.url, 2) + modelYaml('more', after.url, 1),
      'read again',
    );
    expect(log).toContain('"models":["tiny","kept","more"],"replaced":["tiny","more"]');
    expect(await ask('tiny')).toEqual([200, 'after']);
    expect(await ask('more')).toEqual([200, 'after']);
    const { data } = await server.api.get<{ data: { id: string; pricing: { input: string } }[] }>(
      '/v1/models',
    );
    expect(data.map((model) => [model.id, model.pricing.input])).toEqual([
      ['tiny', '8'],
      ['kept', '2'],
      ['more', '1'],
    ]);

    before.answer = complete('before');
    for (const answer of held) answer();
    expect(await running).toEqual([200, 'before']);
    const done = await server.api.finished(id);
    expect(done).toMatchObject({ status: 'completed', request_counts: { completed: 2 } });
    // 12 tokens per line, at 0.50 dollars per million.
    expect(done.cost.amount).toBe('0.000012');
    expect(await ask('kept')).toEqual([200, 'before']);
  });

  it('changes some upstreams of a model and keeps the others', async () => {
    const poolYaml = (urls: string) => `  - id: tiny
    engine: { kind: openai, flavor: openai, model: real-name, urls: [${urls}] }
`;
    const gone = `http://127.0.0.1:${await freePort()}/v1`;
    await start(poolYaml(`"${gone}", "${before.url}"`));
    const replicas = async () => {
      const { data } = await createApi(server.url, adminKey).get<{
        data: { replicas: Record<string, unknown>[] }[];
      }>('/v1/models');
      return data[0]!.replicas;
    };
    await until('one is known to be away', async () => (await replicas())[0]!.health !== 'up');
    const { waiting } = (await replicas())[0]!;
    const held: (() => void)[] = [];
    before.answer = (response, request) => void held.push(() => complete('before')(response, request));
    const running = ask('tiny');
    await until('it is asked', () => held.length === 1);

    const added = `{ url: "${after.url}", drain: true }`;
    const log = await hangUp(
      poolYaml(`{ url: "${before.url}", weight: 2 }, "${gone}", ${added}`),
      'read again',
    );
    expect(log).toContain('"replaced":["tiny"]');
    expect(await replicas()).toMatchObject([
      { health: 'up', in_flight: 1 },
      { health: expect.stringMatching('open'), waiting },
      { health: 'draining' },
    ]);
    await hangUp(poolYaml(`"${after.url}"`), 'read again');
    expect(await ask('tiny')).toEqual([200, 'after']);
    for (const answer of held) answer();
    expect(await running).toEqual([200, 'before']);
  });

  it('costs no line of a batch whose model is renamed, removed and restored', async () => {
    const renamed = modelYaml('other', after.url, 1);
    await start(modelYaml('tiny', before.url, 1));
    const held: (() => void)[] = [];
    after.answer = (response, request) => void held.push(() => complete('after')(response, request));
    const lines = chatLines(200).map((line) => ({ ...line, body: { ...line.body, model: 'tiny' } }));
    before.answer = (response, request) => void held.push(() => complete('before')(response, request));
    const { id } = await server.api.createBatch({ requests: lines });
    await until('some are asked', () => held.length >= 4);
    await hangUp(`${renamed}    aliases: [tiny]\n`, 'read again');
    await until('some are asked under the other name', () => after.received.length >= 4);

    await hangUp(renamed, 'read again');
    after.answer = complete('after');
    for (const answer of held) answer();
    await until('it waits', async () => (await server.api.batch(id)).waiting?.reason === 'model_missing');
    await until('what was asked is counted', async () => {
      const { completed, failed } = (await server.api.batch(id)).request_counts;
      return completed + failed >= held.length;
    });
    expect((await server.api.batch(id)).request_counts).toMatchObject({ completed: held.length, failed: 0 });

    await hangUp(modelYaml('tiny', after.url, 1), 'read again');
    expect((await server.api.finished(id)).request_counts).toEqual({ total: 200, completed: 200, failed: 0 });
  });

  it('keeps new and old upstream keys out of the log', async () => {
    const [old, fresh, header] = [
      'first.corporate.secret',
      'second.corporate.secret',
      'third.corporate.secret',
    ];
    const withKey = (key: string, more = '') =>
      modelYaml('tiny', before.url, 1).replace('slots: 4', `slots: 4, api_key: "${key}"${more}`);
    await start(withKey(old));
    await hangUp(withKey(fresh, `, headers: { x-gateway: "${header}" }`), 'read again');
    before.answer = (response) =>
      void response.writeHead(500).end(JSON.stringify({ error: { message: `not ${fresh}` } }));
    for (const secret of [old, fresh, header]) {
      const headers = { authorization: `Bearer ${processKey}`, 'x-client-request-id': `mine ${secret}` };
      await fetch(`${server.url}/v1/models`, { headers });
    }
    await ask('tiny');
    expect(before.received.at(-1)!.headers).toMatchObject({
      authorization: `Bearer ${fresh}`,
      'x-gateway': header,
    });
    await until(
      'the requests are in the log',
      () => server.stderr().split('"client_request_id":"mine ').length > 3,
    );
    for (const secret of [old, fresh, header]) expect(server.stderr()).not.toContain(secret);
  });

  it('rejects an invalid configuration with the reason', async () => {
    await start(modelYaml('tiny', before.url, 1));
    const log = await hangUp(modelYaml('tiny', 'nowhere', 1), 'configuration is invalid');
    expect(log).toMatch(/"problems":\[".*offpeak\.yaml:3: models\[0\]\.engine\.url: expected an http/);
    expect(await ask('tiny')).toEqual([200, 'before']);
    installation.configure('');
    server.signal('SIGHUP');
    await until('the log says so', () => server.stderr().includes('the configuration file is empty'));
    expect(await ask('tiny')).toEqual([200, 'before']);
    await hangUp(
      '  - id: own\n    engine: { kind: llama, path: hf:no/such/model }\n',
      'configuration is invalid',
    );
    expect(await ask('tiny')).toEqual([200, 'before']);
    await hangUp(`${modelYaml('other', after.url, 1)}drain: 9s\n`, 'take effect at the next start');
    expect(await ask('tiny')).toEqual([404, undefined]);
    expect(await ask('other')).toEqual([200, 'after']);
  });
});
