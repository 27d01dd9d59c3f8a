import { afterEach, describe, expect, it } from 'vitest';
import { createApi } from '../support/api.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { complete, send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Responder, FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';

// An unavailable upstream is visible wherever users look.

let running: RunningApp;
let upstream: FakeUpstream;

afterEach(async () => {
  await running?.stop();
  await upstream?.close();
});

interface Waiting {
  reason: string;
  message: string;
  since: string;
}
interface Model {
  id: string;
  replicas?: { name: string; health: string; in_flight: number; slots: number; waiting: Waiting | null }[];
}

const refuse =
  (status: number, message = 'no'): Responder =>
  (response) =>
    send(response, status, { error: { message } });

async function start(answer: Responder, apiKeys: (string | null)[] = [null]) {
  upstream = await startFakeUpstream(answer);
  const engine = upstreamEngine(upstream.url);
  // The replica without a key has a model name of its own.
  const replicas = apiKeys.map((apiKey) => ({
    ...engine.replicas[0]!,
    apiKey,
    ...(apiKey === null && apiKeys.length > 1 && { model: 'own-name' }),
  }));
  running = await startApp({
    models: [testModel({ ...engine, replicas })],
    keys: [{ org: 'default', scopes: ['admin'] }],
  });
}

describe('a batch whose model is unavailable', () => {
  it.each([
    ['engine_unavailable', 500, 'broken', /^The model's server failed \(status 500\)\. It says: broken$/],
    ['credentials_refused', 401, 'no such key', /^The model's server refuses this service \(status 401\)\.$/],
    ['model_missing', 404, 'The model `real-name` does not exist.', /^The model's server .+\.$/],
    ['rate_limited', 429, 'slow down', /at present \(status 429\)\. It says: slow down$/],
    ['rate_limited', 503, 'no worker at http://10.0.0.7:8000', /503\)\. It says: no worker at \[address\]$/],
  ])("reports %s with the upstream's message: %i", async (reason, status, message, expected) => {
    await start(refuse(status, message));
    const { id } = await running.api.createBatch({ requests: chatLines(4) });
    const seen = await until('it waits', async () => {
      const { waiting } = await running.api.get<{ waiting: Waiting | null }>(`/v1/batches/${id}`);
      return waiting;
    });
    expect(seen.reason).toBe(reason);
    expect(seen.message).toMatch(expected);
    expect(Date.parse(seen.since)).not.toBeNaN();
    upstream.answer = complete('Well again.');
    const done = await running.api.finished(id);
    expect(done).toMatchObject({ status: 'completed', waiting: null, request_counts: { completed: 4 } });
  });

  it('shows its servers only to admins', async () => {
    await start(complete(), ['one-key', null, 'another-key']);
    await upstream.close();
    await running.app.unavailableServers();
    const admin = createApi(running.url, running.keys[0]!);
    const { data } = await admin.get<{ data: Model[] }>('/v1/models');
    const { replicas } = data[0]!;
    expect(replicas![0]).toMatchObject({
      // Half-open after its first back-off, however slow the test.
      health: expect.stringMatching('open'),
      in_flight: 0,
      waiting: { reason: 'engine_unavailable' },
    });
    // The suffix identifies the key, not the position, so it does not change when another key is removed.
    const marks = ['#0ce0', ' own-name', '#dfc4'].map((mark) => `127.0.0.1:${upstream.port}/v1${mark}`);
    expect(replicas!.map(({ name }) => name)).toEqual(marks);
    expect((await admin.get<Model>('/v1/models/default')).replicas).toHaveLength(3);
    const { data: others } = await running.api.get<{ data: Model[] }>('/v1/models');
    expect(others[0]).not.toHaveProperty('replicas');
    expect(await running.api.get<Model>('/v1/models/default')).not.toHaveProperty('replicas');
  });
});

describe('an upstream without the model', () => {
  it('is visible from the start, before any request', async () => {
    upstream = await startFakeUpstream(complete());
    upstream.models = (response) => send(response, 200, { data: [{ id: 'other', owned_by: 'vllm' }] });
    running = await startApp({
      models: [testModel({ ...upstreamEngine(upstream.url), flavor: null })],
      keys: [{ org: 'default', scopes: ['admin'] }],
    });
    await running.app.unavailableServers();
    const admin = createApi(running.url, running.keys[0]!);
    const { replicas } = await admin.get<Model>('/v1/models/default');
    expect(replicas).toMatchObject([{ waiting: { reason: 'model_missing' } }]);
    expect(upstream.received.filter(({ path }) => path.endsWith('/completions'))).toEqual([]);
  });
});

describe('a batch behind others', () => {
  it('reports that it is queued and how many are ahead, and runs afterwards', async () => {
    running = await startApp({ models: [testModel({ kind: 'scripted', slots: 2, delayMs: 0 })] });
    interface Seen {
      waiting: Waiting | null;
      progress: { batches_ahead: number | null };
      in_progress_at: string;
    }
    const seen = (id: string) => running.api.get<Seen>(`/v1/batches/${id}`);
    const first = await running.api.createBatch({ requests: chatLines(8, () => '[[hang]]') });
    await until(
      'the first has all places',
      async () => (await running.api.batch(first.id)).progress.running > 0,
    );
    const others = [];
    for (let n = 0; n < 2; n++) others.push(await running.api.createBatch({ requests: chatLines(16) }));
    for (const [n, { id }] of others.entries()) {
      const told = await until('it waits', async () => {
        const batch = await seen(id);
        return batch.waiting && batch;
      });
      expect(told).toMatchObject({
        waiting: { reason: 'queued', since: told.in_progress_at },
        progress: { batches_ahead: n + 1 },
      });
    }
    expect(await seen(first.id)).toMatchObject({ waiting: null, progress: { batches_ahead: null } });
    await running.api.send(`/v1/batches/${first.id}/cancel`, { method: 'POST' });
    for (const { id } of others)
      expect(await running.api.finished(id)).toMatchObject({ status: 'completed', waiting: null });
  });
});

describe('a batch that is too slow', () => {
  it('is at risk', async () => {
    running = await startApp({ batch: { windows: [{ ms: 20_000, priceFactor: 0.5 }] } });
    const contents = (n: number) => (n === 0 ? 'quick' : '[[hang]]');
    const { id } = await running.api.createBatch({ requests: chatLines(50, contents) });
    const seen = () => running.api.get<{ at_risk: boolean }>(`/v1/batches/${id}`);
    expect((await seen()).at_risk).toBe(false);
    await until('it is at risk', async () => (await seen()).at_risk);
    await running.api.send(`/v1/batches/${id}/cancel`, { method: 'POST' });
    expect((await seen()).at_risk).toBe(false);
  });
});
