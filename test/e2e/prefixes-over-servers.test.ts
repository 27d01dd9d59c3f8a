import { afterEach, expect, it } from 'vitest';
import { startApp, testModel, upstreamEngine, type RunningApp } from '../support/app.ts';
import { chatLine } from '../support/batch-lines.ts';
import { complete, send, startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.ts';
import { seededFloats } from '../support/slot-server.ts';

const slots = 8;
const prefixTokens = 900;
const ownTokens = 100;

let running: RunningApp;
let servers: FakeUpstream[] = [];

afterEach(async () => {
  await running?.stop();
  await Promise.all(servers.map((server) => server.close()));
});

/** Upstream that caches the latest prompt of each slot and counts the cached tokens. */
async function cachingServer(waiting: (() => void)[]) {
  const kept: string[] = [];
  const one = { cached: 0, server: await startFakeUpstream() };
  servers.push(one.server);
  one.server.answer = (response, request) => {
    if (request.text === '') return send(response, 404, {});
    const { messages } = JSON.parse(request.text) as { messages: { content: string }[] };
    const prefix = messages[0]!.content;
    const at = kept.indexOf(prefix);
    if (at >= 0) {
      one.cached += prefixTokens;
      kept.splice(at, 1);
    } else if (kept.length === slots) kept.shift();
    kept.push(prefix);
    waiting.push(() => complete('ok')(response, request));
  };
  return one;
}

it('hits the prefix caches of four upstreams, whatever the order of the rows, as if the rows were sorted', async () => {
  const random = seededFloats(5);
  const waiting: (() => void)[] = [];
  const all = await Promise.all(Array.from({ length: 4 }, () => cachingServer(waiting)));
  const [first, ...others] = all.map(({ server }) => upstreamEngine(server.url, slots));
  if (first?.kind !== 'openai') throw new Error('not an upstream');
  const more = others.flatMap((engine) => (engine.kind === 'openai' ? engine.replicas : []));
  const engine = { ...first, flavor: 'llama-server' as const, replicas: [...first.replicas, ...more] };
  running = await startApp({ models: [testModel(engine)] });

  const rows = Array.from({ length: 1_000 }, (_, at) => ({ prefix: at % 20, at, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ prefix, at }) => {
      const instructions = `You are number ${prefix}. ${'Follow the house rules. '.repeat(60)}`;
      const messages = [
        { role: 'system', content: instructions },
        { role: 'user', content: `row ${at}` },
      ];
      return chatLine(`row-${at}`, '', { messages });
    });
  const { id } = await running.api.createBatch({ requests: rows });
  const state = { isOver: false };
  const finished = running.api.finished(id).finally(() => (state.isOver = true));
  // Answers arrive out of order.
  while (!state.isOver) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    for (let left = Math.ceil(waiting.length / 4); left > 0; left--)
      waiting.splice(Math.floor(random() * waiting.length), 1)[0]?.();
  }
  expect((await finished).request_counts).toMatchObject({ completed: 1_000 });

  const read = rows.length * (prefixTokens + ownTokens);
  const cached = all.reduce((sum, one) => sum + one.cached, 0) / read;
  const sorted = ((rows.length - 20) * prefixTokens) / read;
  // The home of a prefix depends on the ports: 0.90 to 1.00 was measured, and 0.68 to 0.72 with random placement.
  expect(cached / sorted).toBeGreaterThanOrEqual(0.85);
});
