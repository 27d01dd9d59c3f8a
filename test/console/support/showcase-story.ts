import type { Api } from '../../support/api.ts';
import { chatLine } from '../../support/batch-lines.ts';
import { createBatch } from './showcase-batches.ts';
import type { ShowcaseClock } from './showcase-clock.ts';

const hour = 3_600_000;
const day = 24 * hour;

export const orgs = ['search', 'support', 'research', 'finance', 'archive'] as const;

/** Clients of the orgs and of an administrator. */
export type Teams = Readonly<Record<(typeof orgs)[number] | 'admin', Api>>;

export interface Story {
  teams: Teams;
  clock: ShowcaseClock;
  /** Address of an endpoint that takes webhooks. */
  hook: string;
  /** Number of lines for a planned one. */
  size: (lines: number) => number;
}

/** Usage of whole days, and batches that ended in each way. Returns the id of one with failures. */
export async function makePast({ teams, clock, size }: Story, days: number): Promise<string> {
  const { search, support, research } = teams;
  const expired = await createBatch(research, { name: 'Embedding audit', model: 'mistral-large', lines: 40 });
  for (let n = 0; n < days; n++) {
    const weight = [1, 1.4, 1.2, 1.7, 1.5, 0.4, 0.3][n % 7]!;
    const ended = [
      await createBatch(search, nightly(size(900 * weight))),
      await createBatch(support, { ...triage, lines: size(1_600 * weight) }),
      ...(n % 3 === 1 ? [await createBatch(research, judge(n, size(700)))] : []),
    ];
    const apis = [search, support, research];
    await Promise.all(ended.map((id, index) => apis[index]!.finished(id)));
    for (const api of apis) await ask(api, 'llama-3.1-8b', 'What changed since yesterday?');
    clock.skip(day - hour);
  }
  await research.finished(expired);
  const failed = await createBatch(search, { ...transcripts, lines: Math.max(60, size(600)), failEvery: 13 });
  await search.finished(failed);
  await search.post(`/v1/batches/${failed}/retry`, { codes: ['schema_not_met'] });
  const wrong = await createBatch(research, { name: 'Wrong prompt', model: 'qwen3-32b', lines: size(4_000) });
  clock.skip(hour / 2);
  await research.post(`/v1/batches/${wrong}/cancel`, {});
  await research.finished(wrong);
  return failed;
}

/** Open batches that began earlier. One of them is far too slow for its window. */
export async function makeEarlier({ teams, size }: Story): Promise<void> {
  await createBatch(teams.support, {
    name: 'Archive of 2019, summaries',
    model: 'gemma-3-12b',
    lines: size(10_000),
    metadata: { team: 'helpdesk' },
  });
}

/** Open batches: running, paused, and waiting for each reason. Returns the id of one that runs. */
export async function makePresent({ teams, size }: Story): Promise<string> {
  const { search, support, research, finance, archive } = teams;
  const paused = await createBatch(research, judge(30, size(1_200)));
  await research.post(`/v1/batches/${paused}/pause`, {});
  await createBatch(research, { name: 'Synthetic dialogues', model: 'mistral-large', lines: size(5_000) });
  await createBatch(research, { name: 'Math proofs, pass@8', model: 'deepseek-r1', lines: size(4_000) });
  await createBatch(support, { name: 'Tone check', model: 'gpt-oss-120b', lines: size(700) });
  await createBatch(search, { name: 'Synonyms', model: 'phi-4', lines: size(2_200) });
  await createBatch(archive, { name: 'Scanned letters', model: 'llama-3.1-8b', lines: size(3_000) });
  await change(teams.admin, '/v1/admin/orgs/archive', { disabled: true });
  await createBatch(finance, { name: 'Invoices, October', model: 'qwen3-32b', lines: size(900) });
  await ask(finance, 'qwen3-32b', 'Which invoices are due?');
  await change(teams.admin, '/v1/admin/orgs/finance', {
    budget: { amount: '0.0001', period: 'month', hard: true },
  });
  const running = await createBatch(search, {
    name: 'Catalogue translation FR',
    model: 'qwen3-32b',
    lines: size(9_600),
    failEvery: 190,
    metadata: { team: 'catalogue', ticket: 'CAT-2214' },
  });
  await createBatch(support, { name: 'Summaries of calls', model: 'llama-3.1-8b', lines: size(10_000) });
  await createBatch(search, { name: 'Query rewriting', model: 'qwen3-32b', lines: size(2_500) });
  return running;
}

/** Budgets, limits, keys, webhooks, a drained server: what administrators do, with its entries of the audit log. */
export async function makeSettings({ teams, hook }: Story): Promise<void> {
  const { admin, search } = teams;
  const org = (name: string, json: object) => change(admin, `/v1/admin/orgs/${name}`, json);
  await org('search', { budget: { amount: '12', period: 'month', hard: false }, weight: 2 });
  await org('support', { budget: { amount: '2', period: 'month', hard: false } });
  await org('research', { limits: { open_batches: 20, queued_requests: 50_000 } });
  await change(admin, '/v1/admin/orgs/search', { limits: { concurrent_requests: 64 } });
  const { data: known } = await admin.get<{ data: { id: string; name: string }[] }>('/v1/admin/orgs');
  const { data: keys } = await admin.get<{ data: { id: string; org: string; scopes: string[] }[] }>(
    '/v1/admin/keys',
  );
  for (const { id, org: owner, scopes } of keys)
    await change(admin, `/v1/admin/keys/${id}`, {
      name: scopes.includes('admin') ? 'operator' : `${owner}-api`,
    });
  for (const [name, key, scopes] of [
    ['search', 'nightly-pipeline', ['batches', 'files']],
    ['search', 'dashboard', ['batches:read', 'files:read', 'usage']],
    ['support', 'helpdesk', ['inference']],
  ] as const)
    await admin.post('/v1/admin/keys', {
      org_id: known.find((each) => each.name === name)!.id,
      name: key,
      scopes,
    });
  const { data } = await admin.get<{ data: { id: string; server: string }[] }>('/v1/admin/replicas');
  for (const { id, server } of data)
    if (server.startsWith('gpu-8')) await admin.post(`/v1/admin/replicas/${id}/drain`, {});
  await admin.post('/v1/admin/pause', { model: 'gemma-3-12b', org: 'research' });
  const made = await search.post<{ id: string }>('/v1/webhooks', { url: hook, name: 'Catalogue import' });
  await search.post('/v1/webhooks', { url: 'https://ci.example:9/offpeak', name: 'ci' });
  await search.post(`/v1/webhooks/${made.id}/test`, {});
}

/** Single requests as they come in a minute. */
export async function makeRequests({ teams }: Story, number: number): Promise<void> {
  const models = ['llama-3.1-8b', 'qwen3-32b', 'llama-3.1-8b', 'qwen3-32b', 'llama-3.1-8b'];
  const askers = [teams.support, teams.search, teams.research];
  await Promise.all(
    Array.from({ length: number }, (_, n) => {
      const model = n % 13 === 4 ? 'gpt-5' : n % 17 === 6 ? 'mistral-large' : models[n % models.length]!;
      const mark = n % 11 === 5 ? 'Too long: ' : '';
      return ask(askers[n % askers.length]!, model, `${mark}Where is order ${1_000 + n * 37}?`);
    }),
  );
}

async function ask(api: Api, model: string, question: string): Promise<void> {
  await api.send('/v1/chat/completions', { json: { ...chatLine('x', question).body, model } });
}

async function change(api: Api, path: string, json: object): Promise<void> {
  const { status, text } = await api.send(path, { method: 'PATCH', json });
  if (status >= 300) throw new Error(`${path} answered ${status}: ${text}`);
}

const nightly = (lines: number) => ({ name: 'Product descriptions, nightly', model: 'qwen3-32b', lines });
const judge = (run: number, lines: number) => ({
  name: `Evaluation, judge run ${run}`,
  model: 'qwen3-32b',
  lines,
});
const triage = { name: 'Ticket triage', model: 'llama-3.1-8b', isJson: true };
const transcripts = { name: 'Call transcripts, October', model: 'llama-3.1-8b', isJson: true };
