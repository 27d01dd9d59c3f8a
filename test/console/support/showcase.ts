import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../../src/base/system.ts';
import type { ModelConfig } from '../../../src/core/config.ts';
import { type Api, createApi } from '../../support/api.ts';
import { type RunningApp, startApp, testModel, upstreamEngine } from '../../support/app.ts';
import { chatLine, jsonl, type Line } from '../../support/batch-lines.ts';
import { completion, type FakeUpstream, send, startFakeUpstream } from '../../support/fake-upstream.ts';

const day = 86_400_000;
/** Days of usage before today. */
const days = 6;

/** Server with the data of a few busy teams: batches in all states, and usage over a week. */
export interface Showcase {
  url: string;
  /** Key with all scopes. */
  adminKey: string;
  /** Batch that runs, and one that ended with failures. */
  running: string;
  failed: string;
  stop(): Promise<void>;
}

/** @param scale share of the lines of the batches, so that a test is quick */
export async function startShowcase(scale = 1): Promise<Showcase> {
  const upstream = await startFakeUpstream((response, { text }) => void answer(response, text));
  let offset = -days * day;
  const app = await startApp({
    models: models(upstream),
    overrides: { clock: { ...systemClock, now: () => Date.now() + offset } },
    keys: [
      ...['search', 'support', 'research'].map((org) => ({ org })),
      { org: 'search', scopes: ['admin', 'inference', 'batches', 'files', 'usage'] },
    ],
  });
  const [search, support, research] = app.keys.map((key) => createApi(app.url, key)) as [Api, Api, Api];
  const adminKey = app.keys[3]!;

  for (; offset < 0; offset += day) {
    const n = Math.round(40 * scale * (1 + ((offset / day + days) % 3)));
    const nightly = await batch(search, 'Product descriptions, nightly', 'qwen3-32b', n);
    const triage = await batch(support, 'Ticket triage', 'llama-3.1-8b', 2 * n);
    await Promise.all([search.finished(nightly), support.finished(triage)]);
    for (const api of [search, support, research])
      await api.post('/v1/chat/completions', {
        ...chatLine('x', 'What changed since yesterday?').body,
        model: 'llama-3.1-8b',
      });
  }
  const failed = await batch(search, 'Call transcripts, October', 'llama-3.1-8b', Math.round(300 * scale), 9);
  await search.finished(failed);
  await support.send('/v1/chat/completions', {
    json: { model: 'gpt-5', messages: [{ role: 'user', content: 'Hi' }] },
  });
  const paused = await batch(research, 'Evaluation, judge run 3', 'qwen3-32b', Math.round(1_200 * scale));
  await research.send(`/v1/batches/${paused}/pause`, { method: 'POST' });
  await batch(research, 'Synthetic dialogues', 'mistral-large', Math.round(5_000 * scale));
  const running = await batch(
    search,
    'Catalogue translation FR',
    'qwen3-32b',
    Math.round(9_000 * scale),
    200,
  );
  await batch(support, 'Summaries of calls', 'llama-3.1-8b', Math.round(6_000 * scale));
  await batch(search, 'Query rewriting', 'qwen3-32b', Math.round(2_500 * scale));
  const cancelled = await batch(research, 'Wrong prompt', 'qwen3-32b', Math.round(800 * scale));
  await research.send(`/v1/batches/${cancelled}/cancel`, { method: 'POST' });
  await settings(app, adminKey);
  return { url: app.url, adminKey, running, failed, stop: () => stop(app, upstream) };
}

async function stop(app: RunningApp, upstream: FakeUpstream): Promise<void> {
  await app.stop();
  await upstream.close();
}

function models(upstream: FakeUpstream): ModelConfig[] {
  const model = (id: string, url: string, slots: number, input: number): ModelConfig => ({
    ...testModel(upstreamEngine(url, slots)),
    id,
    aliases: [],
    prices: { input, cachedInput: input / 4, output: 4 * input },
  });
  return [
    model('qwen3-32b', upstream.url, 24, 200_000_000),
    model('llama-3.1-8b', upstream.url, 48, 50_000_000),
    model('mistral-large', 'http://127.0.0.1:9/v1', 16, 800_000_000),
  ];
}

/** Creates a batch of a file. @param failEvery every so many lines fail */
async function batch(api: Api, name: string, model: string, count: number, failEvery = 0): Promise<string> {
  const lines = Array.from({ length: Math.max(count, 3) }, (_, n): Line => {
    const isBroken = failEvery > 0 && n % failEvery === failEvery - 1;
    const prompt = `${isBroken ? 'BROKEN ' : ''}${prompts[n % prompts.length]} (${n + 1})`;
    return chatLine(`${name.split(' ')[0]!.toLowerCase()}-${n + 1}`, prompt, { model });
  });
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob([jsonl(lines)]), `${name.toLowerCase().replaceAll(/\W+/g, '-')}.jsonl`);
  const file = JSON.parse((await api.send('/v1/files', { body: form })).text) as { id: string };
  return (await api.createBatch(file.id, { metadata: { name } })).id;
}

/** Budgets and a webhook. */
async function settings(app: RunningApp, adminKey: string): Promise<void> {
  const admin = createApi(app.url, adminKey);
  for (const [org, amount] of [
    ['search', '1.00'],
    ['support', '0.10'],
  ])
    await admin.send(`/v1/admin/orgs/${org}`, { method: 'PATCH', json: { budget: { amount, hard: false } } });
}

/** Answers after a moment, longer for the larger model; refuses prompts that are marked as broken. */
async function answer(response: Parameters<typeof send>[0], body: string): Promise<void> {
  const prompt = (JSON.parse(body) as { messages: { content: string }[] }).messages.at(-1)!.content;
  await wait(250 + (prompt.length % 7) * 90);
  if (response.destroyed) return;
  if (prompt.startsWith('BROKEN'))
    return send(response, 400, {
      error: {
        message: 'The transcript has no speaker labels.',
        type: 'invalid_request_error',
        code: 'invalid_input',
      },
    });
  const usage = {
    prompt_tokens: 420,
    completion_tokens: 96,
    total_tokens: 516,
    prompt_tokens_details: { cached_tokens: 288 },
  };
  send(response, 200, completion(answers[prompt.length % answers.length], { usage }));
}

const prompts = [
  'Describe a waterproof hiking jacket in two sentences.',
  'Which team should handle this ticket: "My invoice shows the wrong address"?',
  'Translate into French: "Free returns within 30 days."',
  'Summarise the call in one sentence.',
];

const answers = [
  'A light jacket that keeps rain out and lets warmth escape. Its hood folds into the collar.',
  'Billing. The customer asks for a corrected invoice.',
  'Retours gratuits sous 30 jours.',
];
