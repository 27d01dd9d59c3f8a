import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Api } from '../support/api.ts';
import { createApi } from '../support/api.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';
import { completion, send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';

// An org that sends more than a model can take, and another org beside it.

const slots = 4;
let upstream: FakeUpstream;
let running: RunningApp;
let busy: Api;
let other: Api;
/** Requests that the upstream has not answered, each with the function that answers it. */
const open: { isBusy: boolean; answer: () => void }[] = [];
let answersAtOnce = false;

beforeAll(async () => {
  upstream = await startFakeUpstream((response, received) => {
    const answer = () => send(response, 200, completion('fine'));
    if (answersAtOnce) setTimeout(answer, 5);
    else open.push({ isBusy: received.text.includes('busy'), answer });
  });
  running = await startApp({
    models: [testModel(upstreamEngine(upstream.url, slots))],
    keys: [{ org: 'other' }],
  });
  busy = running.api;
  other = createApi(running.url, running.keys[0]!);
});

afterAll(async () => {
  await running?.stop();
  await upstream?.close();
});

const chat = async (api: Api, text: string): Promise<number> => {
  const messages = [{ role: 'user', content: text }];
  return (await api.send('/v1/chat/completions', { json: { model: 'tiny', messages } })).status;
};

it('another org gets its answers while one has 160 requests in flight (attack 2)', async () => {
  let refused = 0;
  const load = Array.from({ length: 160 }, async () => {
    if ((await chat(busy, 'busy')) === 503) refused++;
  });
  // 64 of them wait for those that the upstream works on.
  await until('the queue is full', () => open.length + refused === 160 - 64);
  const answers = Array.from({ length: 12 }, () => chat(other, 'few'));
  await until('the others displaced twelve', () => open.length + refused === 160 - 64 + 12);
  let busyAnswered = 0;
  const left = new Set(answers);
  for (const answer of answers) void answer.then(() => left.delete(answer));
  // Each answered request makes room for one that waits.
  for (; left.size > 0; await until('the upstream has work', () => open.length > 0 || left.size === 0)) {
    const next = open.shift();
    if (!next) continue;
    if (next.isBusy) busyAnswered++;
    next.answer();
  }
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 12 }, () => 200));
  // The org with nothing in flight gets half of the slots: about one of its requests for each of the other org's.
  expect(busyAnswered).toBeLessThan(40);
  answersAtOnce = true;
  for (const { answer } of open.splice(0)) answer();
  await Promise.all(load);
});

it('a batch of another org progresses under a permanent load of requests (attack 3)', async () => {
  answersAtOnce = true;
  const over = new AbortController();
  let answered = 0;
  const load = Array.from({ length: 60 }, async () => {
    while (!over.signal.aborted) if ((await chat(busy, 'busy')) === 200) answered++;
  });
  await until('the load is permanent', () => answered > 100);
  const before = answered;
  const { id } = await other.createBatch({ requests: chatLines(20) });
  const batch = await other.finished(id);
  const during = answered - before;
  over.abort();
  await Promise.all(load);
  expect(batch.request_counts).toEqual({ total: 20, completed: 20, failed: 0 });
  // The floor of one slot leaves most of the others to single requests.
  expect(during).toBeGreaterThan(20);
});
