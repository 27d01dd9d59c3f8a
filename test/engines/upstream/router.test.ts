import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Router } from '../../../src/core/router.ts';
import { startApp, testModel, upstreamEngine } from '../../support/app.ts';
import { chatLines } from '../../support/batch-lines.ts';
import { complete, send, startFakeUpstream, type FakeUpstream } from '../../support/fake-upstream.ts';
import { ask, call, engineAt } from './setup.ts';

const llmd: Router = {
  kind: 'llm-d',
  objectiveHeaders: ['x-new-objective', 'x-old-objective'],
  fairnessHeaders: ['x-fairness'],
  objectives: { batch: 'sheddable' },
};
const vllm: Router = { kind: 'vllm', objectiveHeaders: [], fairnessHeaders: [], objectives: {} };

let fake: FakeUpstream;
beforeEach(async () => void (fake = await startFakeUpstream()));
afterEach(() => fake.close());

it('is told the org of every request, and the objective of batch requests', async () => {
  const app = await startApp({ models: [testModel({ ...upstreamEngine(fake.url), router: llmd })] });
  const messages = [{ role: 'user', content: 'hi' }];
  await app.api.post('/v1/chat/completions', { model: 'tiny', messages });
  await app.api.post('/v1/responses', { model: 'tiny', input: 'hi' });
  await app.api.finished((await app.api.createBatch({ requests: chatLines(2) })).id);
  await app.stop();
  const told = fake.received
    .filter(({ path, text }) => path.endsWith('/chat/completions') && !text.includes('"max_tokens":1,'))
    .map(({ headers }) => ['x-new-objective', 'x-old-objective', 'x-fairness'].map((name) => headers[name]));
  const org = expect.stringMatching(/^org_/);
  expect(told).toEqual([
    [undefined, undefined, org],
    [undefined, undefined, org],
    ['sheddable', 'sheddable', org],
    ['sheddable', 'sheddable', org],
  ]);
});

it.each([
  ['a full queue', 408, '', 'engine_overloaded'],
  [
    'workers that are away',
    500,
    'Request failed: error sending request for url (http://gpu:8000)',
    'engine_overloaded',
  ],
  ['an error of its worker', 500, '{"error":{"message":"out of memory"}}', 'upstream_error'],
])('of vLLM reports %s in its own way', async (_, status, text, code) => {
  fake.answer = (response) => response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
  const engine = engineAt(fake.url, { flavor: 'vllm', router: vllm });
  await engine.start();
  await expect(engine.generate(ask(), call())).rejects.toMatchObject({ code });
  await engine.stop();
});

it('answers with the queue of one of its workers, which is not read', async () => {
  fake.models = (response) =>
    send(response, 200, { data: [{ id: 'real-name', owned_by: 'vllm', max_model_len: 512 }] });
  fake.answer = (response, request) =>
    request.path.endsWith('/metrics')
      ? response.end('vllm:num_requests_waiting{model_name="real-name"} 99\n')
      : complete()(response, request);
  for (const [router, queued] of [
    [vllm, null],
    [undefined, 99],
  ] as const) {
    const engine = engineAt(fake.url, { flavor: 'vllm', router });
    await engine.start();
    expect(await engine.probe()).toMatchObject({ contextLength: 512, ...(router ? {} : { queued }) });
    expect((await engine.probe()).queued ?? null).toBe(queued);
    await engine.stop();
  }
});
