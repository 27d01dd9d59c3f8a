import { afterEach, describe, expect, it } from 'vitest';
import type { ModelConfig } from '../../src/core/config.ts';
import { createApi } from '../support/api.ts';
import type { Api } from '../support/api.ts';
import { startApp, testModel } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { upstreamEngine } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { complete, send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Responder, FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';

let running: RunningApp;
let upstream: FakeUpstream;

afterEach(async () => {
  await running?.stop();
  await upstream?.close();
});

const refuse =
  (status: number): Responder =>
  (response) =>
    send(response, status, { error: { message: 'no' } });

/** A model whose upstream gives `answer`, and one that always succeeds. */
async function start(answer: Responder, more: Partial<ModelConfig> = {}) {
  upstream = await startFakeUpstream(answer);
  const first = { ...testModel(upstreamEngine(upstream.url)), fallbacks: ['spare'], ...more };
  const spare = {
    ...testModel(),
    id: 'spare',
    aliases: [],
    prices: { input: 7e9, cachedInput: 7e9, output: 7e9 },
  };
  const keys = [{ org: 'default', models: ['tiny'] }];
  running = await startApp({ models: [first, spare], keys });
}

const messages = [{ role: 'user', content: 'Hello?' }];
const ask = (api: Api = running.api, more: object = {}) =>
  post({ messages, ...more }, '/v1/chat/completions', api);

async function post(body: object, path: string, api: Api = running.api) {
  const { status, headers, text } = await api.send(path, { json: { model: 'default', ...body } });
  return { status, header: headers.get('x-offpeak-model'), text };
}

describe('fallbacks', () => {
  it.each([500, 401, 404, 429])('answer if the model fails with %i', async (status) => {
    await start(refuse(status));
    const { header, text } = await ask();
    expect([header, (JSON.parse(text) as { model: string }).model]).toEqual(['spare', 'spare']);
    const streamed = await ask(running.api, { stream: true });
    expect(streamed.header).toBe('spare');
    expect(streamed.text).toContain('"model":"spare"');
    expect(streamed.text).toContain('[DONE]');
    for (const stream of [false, true]) {
      const message = await post({ max_tokens: 9, messages, stream }, '/v1/messages');
      const response = await post({ input: 'Hello?', stream }, '/v1/responses');
      const raw = await post({ prompt: 'Hello?', stream }, '/v1/completions');
      expect([message.header, response.header, raw.header]).toEqual(['spare', 'spare', 'spare']);
    }
    const { text: vectors } = await running.api.send('/v1/embeddings', {
      json: { model: 'tiny', input: 'a' },
    });
    expect(JSON.parse(vectors)).toMatchObject({ model: 'spare' });
  });

  it('are not called while the model answers, or for invalid requests', async () => {
    await start(complete('Here.'));
    expect(await ask()).toMatchObject({ status: 200, header: 'tiny' });
    upstream.answer = refuse(400);
    expect(await ask()).toMatchObject({ status: 400, header: null });
  });

  it('are not used for keys without access to them', async () => {
    await start(refuse(500));
    expect((await ask(createApi(running.url, running.keys[0]!))).status).toBe(502);
  });

  it('answer batch lines if configured, at the frozen price', async () => {
    await start(refuse(500), { batchFallbacksAfterMs: 0 });
    const restricted = createApi(running.url, running.keys[0]!);
    const waits = await restricted.createBatch({ requests: chatLines(2) });
    const { id } = await running.api.createBatch({ requests: chatLines(3) });
    const done = await running.api.finished(id);
    expect(done).toMatchObject({ status: 'completed', waiting: null, request_counts: { completed: 3 } });
    const { text } = await running.api.results(id, 'output');
    expect(text.match(/"model":"spare"/g)).toHaveLength(3);
    const { input_tokens: input, output_tokens: output } = done.usage;
    expect(Number(done.cost.amount)).toBeCloseTo(((input + output) * 3.5) / 1e6, 9);
    expect(await restricted.get(`/v1/batches/${waits.id}`)).toMatchObject({
      request_counts: { completed: 0 },
      waiting: { reason: 'engine_unavailable' },
    });
    const asked = upstream.received.length;
    expect(asked).toBeLessThan(12);

    upstream.answer = complete('Well.');
    await restricted.finished(waits.id);
    const { text: own } = await restricted.results(waits.id, 'output');
    expect(own.match(/"model":"tiny"/g)).toHaveLength(2);
    const later = await running.api.createBatch({ requests: chatLines(2) });
    await running.api.finished(later.id);
    expect((await running.api.results(later.id, 'output')).text.match(/"model":"tiny"/g)).toHaveLength(2);
  });

  it('are otherwise not used for batches, which wait', async () => {
    await start(refuse(500));
    const { id } = await running.api.createBatch({ requests: chatLines(2) });
    await until('it waits', async () => {
      const { waiting } = await running.api.get<{ waiting: object | null }>(`/v1/batches/${id}`);
      return waiting;
    });
    upstream.answer = complete('Well.');
    await running.api.finished(id);
    const { text } = await running.api.results(id, 'output');
    expect(text.match(/"model":"tiny"/g)).toHaveLength(2);
  });
});
