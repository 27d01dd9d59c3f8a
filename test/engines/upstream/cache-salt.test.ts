import { afterAll, beforeAll, expect, it } from 'vitest';
import { saltedFlavors } from '../../../src/core/flavor.ts';
import { flavorTraits } from '../../../src/engines/upstream/flavors/flavors.ts';
import { cacheSaltOf } from '../../../src/engines/upstream/request/cache-salt.ts';
import { createApi } from '../../support/api.ts';
import { startApp, testModel, upstreamEngine, type RunningApp } from '../../support/app.ts';
import { chatLines } from '../../support/batch-lines.ts';
import {
  complete,
  frame,
  send,
  startFakeUpstream,
  streamed,
  usageFrame,
  type FakeUpstream,
} from '../../support/fake-upstream.ts';
import { ask, call, collect, engineAt, json } from './setup.ts';

const secret = 'a secret for salts, of 32 characters or more';
let fake: FakeUpstream;
let running: RunningApp;

beforeAll(async () => {
  fake = await startFakeUpstream((response, request) =>
    request.path.endsWith('/embeddings')
      ? send(response, 200, { data: [{ index: 0, embedding: [1, 0] }], usage: { prompt_tokens: 1 } })
      : complete()(response, request),
  );
  const engine = { ...upstreamEngine(fake.url), flavor: 'vllm' as const, cacheSalt: secret };
  running = await startApp({
    models: [{ ...testModel(engine), serves: ['chat', 'embeddings'] }],
    keys: [{ org: 'other' }],
  });
});
afterAll(async () => {
  await running?.stop();
  await fake?.close();
});

/** Bodies that the upstream received since the last call, except probes. */
function received(): { path: string; cache_salt?: string; messages?: unknown }[] {
  return fake.received
    .splice(0)
    .filter(({ text }) => text !== '')
    .map(({ path, text }) => ({ ...(JSON.parse(text) as object), path }));
}

it('C26: each org has a salt of its own on every route, the same for batches, streams and restarts', async () => {
  const saltsOf = async (key: string) => {
    const api = createApi(running.url, key);
    received();
    const messages = [{ role: 'user', content: 'The same prompt.' }];
    await api.post('/v1/chat/completions', { model: 'tiny', messages, cache_salt: 'of the client' });
    await api.post('/v1/responses', { model: 'tiny', input: 'The same prompt.' });
    await api.post('/v1/messages', { model: 'tiny', max_tokens: 9, messages });
    await api.post('/v1/embeddings', { model: 'tiny', input: 'The same prompt.' });
    await api.finished((await api.createBatch({ requests: chatLines(3) })).id);
    return received();
  };
  const [ours, theirs] = [await saltsOf(running.key), await saltsOf(running.keys[0]!)];
  expect(ours.length).toBeGreaterThanOrEqual(7);
  const [mine, other] = [ours, theirs].map((all) => new Set(all.map(({ cache_salt: salt }) => salt)));
  expect([mine!.size, other!.size]).toEqual([1, 1]);
  expect([...mine!, ...other!]).toEqual([
    expect.stringMatching(/^[\w-]{43}$/),
    expect.stringMatching(/^[\w-]{43}$/),
  ]);
  expect(mine).not.toEqual(other);
});

it('C26: a salt depends on the secret and the org alone, and reveals neither', () => {
  expect(cacheSaltOf(secret, 'org_a')).toBe(cacheSaltOf(secret, 'org_a'));
  expect(cacheSaltOf(secret, 'org_a')).not.toBe(cacheSaltOf(`${secret}!`, 'org_a'));
  expect(cacheSaltOf(secret, 'org_a')).not.toContain('org_a');
});

it.each(['vllm', 'sglang'] as const)(
  'C26: replaces a salt that the operator lets clients send to %s',
  async (flavor) => {
    received();
    const engine = engineAt(fake.url, { flavor, cacheSalt: secret, passThrough: ['cache_salt'] });
    const org = { ...call(), org: 'org_a' };
    const text = ask().text.replace('{', '{"cache_salt":"guessed","nested":{"deep":1},');
    await engine.generate({ value: JSON.parse(text) as ReturnType<typeof ask>['value'], text }, org);
    fake.answer = streamed([frame({ content: 'hi' }, 'stop'), usageFrame]);
    await collect(engine.stream(ask(), org));
    fake.answer = complete();
    await engine.native!.generate('completions', json({ model: 'public', prompt: 'a' }), org).catch(() => {});
    await engine.native!.generate('responses', json({ model: 'public', input: 'a' }), org).catch(() => {});
    const salts = received().map(({ cache_salt: salt }) => salt);
    expect(salts).toEqual(Array.from({ length: 4 }, () => cacheSaltOf(secret, 'org_a')));
    await engine.stop();
  },
);

it('C26: without a configured secret, and for servers that take no salt, none is sent', async () => {
  received();
  for (const options of [{ flavor: 'vllm' }, { flavor: 'openai', cacheSalt: secret }] as const) {
    const engine = engineAt(fake.url, options);
    await engine.generate(ask(), { ...call(), org: 'org_a' });
    await engine.stop();
  }
  expect(received().filter((body) => 'cache_salt' in body)).toEqual([]);
});

it('C26: the configuration and the traits name the same flavors', () => {
  const salted = Object.entries(flavorTraits).flatMap(([flavor, { cacheSalt }]) =>
    cacheSalt ? [flavor] : [],
  );
  expect(salted).toEqual([...saltedFlavors]);
});
