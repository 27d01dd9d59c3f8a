import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { completion, send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';

// Capacity that batches leave for interactive requests, measured at the shared upstream.

const slots = 8;
let upstream: FakeUpstream;
let running: RunningApp;
let inFlight = 0;
let answered = 0;
/** For each single request: the number in flight when it arrived, and the number answered before. */
const met: { inFlight: number; answered: number }[] = [];

beforeAll(async () => {
  upstream = await startFakeUpstream((response, received) => {
    if (received.text.includes('somebody waits')) met.push({ inFlight, answered });
    inFlight++;
    setTimeout(() => {
      inFlight--;
      answered++;
      send(response, 200, completion('fine'));
    }, 10);
  });
  running = await startApp({ models: [testModel(upstreamEngine(upstream.url, slots))] });
});

afterAll(async () => {
  await running?.stop();
  await upstream?.close();
});

it('F53: a single request finds a slot beside any number of batches and waits for none of their lines', async () => {
  const batches = await Promise.all(
    Array.from({ length: 20 }, () => running.api.createBatch({ requests: chatLines(500) })),
  );
  await until('the batches fill the server', () => inFlight >= slots);
  const messages = [{ role: 'user', content: 'somebody waits' }];
  const waits: number[] = [];
  for (let n = 0; n < 30; n++) {
    const before = answered;
    const { status } = await running.api.send('/v1/chat/completions', { json: { model: 'tiny', messages } });
    expect(status).toBe(200);
    waits.push(met[n]!.answered - before);
  }
  // The first may meet a full upstream. From then on, a slot is reserved: never more than exist.
  expect(Math.max(...met.slice(1).map((each) => each.inFlight))).toBeLessThan(slots);
  // While the request travels, fewer lines are answered than the upstream has slots.
  expect(waits.toSorted((a, b) => a - b)[15]).toBeLessThanOrEqual(slots);
  for (const { id } of batches) await running.api.send(`/v1/batches/${id}/cancel`, { method: 'POST' });
});
