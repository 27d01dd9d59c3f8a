import { afterEach, describe, expect, it } from 'vitest';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { complete, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Responder, FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';

// A paused batch sends nothing and loses nothing, and can be resumed, cancelled or expire.

let running: RunningApp;
let upstream: FakeUpstream;
let asked: number;
let answerAll: () => void;

afterEach(async () => {
  answerAll();
  await running.stop();
  await upstream.close();
});

const post = async (id: string, verb: string) => {
  const { status, text } = await running.api.send(`/v1/batches/${id}/${verb}`, { method: 'POST' });
  return { status, json: JSON.parse(text) };
};

/** Starts a batch with a request in flight on every slot, unanswered until `answerAll`. */
async function start(completionWindowMs = 3_600_000): Promise<string> {
  asked = 0;
  const held = Promise.withResolvers<void>();
  answerAll = held.resolve;
  const well = complete();
  const answer: Responder = async (...given) => {
    asked++;
    await held.promise;
    return well(...given);
  };
  upstream = await startFakeUpstream(answer);
  running = await startApp({
    models: [testModel(upstreamEngine(upstream.url, 2))],
    batch: { windows: [{ ms: completionWindowMs, priceFactor: 0.5 }] },
  });
  const { id } = await running.api.createBatch({ requests: chatLines(20) });
  await until('some are in flight', async () => asked >= 2);
  return id;
}

describe('a paused batch', () => {
  it('sends no more requests, finishes those in flight, and continues when resumed', async () => {
    const id = await start();
    const paused = await post(id, 'pause');
    expect(paused).toMatchObject({
      status: 200,
      json: { status: 'in_progress', waiting: { reason: 'paused' } },
    });
    answerAll();
    await until('nothing is leased', async () => (await running.api.batch(id)).progress.running === 0);
    const sent = asked;
    expect(sent).toBeLessThan(20);
    expect((await running.api.batch(id)).request_counts.completed).toBe(sent);
    // Meanwhile, another batch gets all slots.
    const other = await running.api.createBatch({ requests: chatLines(5) });
    await running.api.finished(other.id);
    expect(asked).toBe(sent + 5);
    expect(await post(id, 'pause')).toMatchObject({ status: 200, json: { waiting: paused.json.waiting } });
    expect(await post(id, 'resume')).toMatchObject({ status: 200, json: { waiting: null } });
    expect((await post(id, 'resume')).status).toBe(200);
    const done = await running.api.finished(id);
    expect(done.request_counts).toEqual({ total: 20, completed: 20, failed: 0 });
    expect(asked).toBe(25);
    for (const verb of ['pause', 'resume'])
      expect(await post(id, verb)).toMatchObject({
        status: 409,
        json: { error: { code: 'batch_not_pausable' } },
      });
    expect((await post(`batch_${'0'.repeat(32)}`, 'pause')).status).toBe(404);
  });

  it('can be cancelled', async () => {
    const id = await start();
    await post(id, 'pause');
    expect((await post(id, 'cancel')).json).toMatchObject({ status: 'cancelling', waiting: null });
    const { status, request_counts: counts } = await running.api.finished(id);
    expect([status, counts.completed + counts.failed]).toEqual(['cancelled', 20]);
  });

  it('can expire', async () => {
    const id = await start(3_000);
    await post(id, 'pause');
    const { status, request_counts: counts } = await running.api.finished(id);
    expect([status, counts.completed + counts.failed]).toEqual(['expired', 20]);
  });
});
