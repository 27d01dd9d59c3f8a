import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/system.ts';
import { addToLedger } from '../store/fixtures.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
let orgId: string;
let others = 0;
beforeAll(async () => {
  app = await startServer({ clock: { ...systemClock, now: () => Date.UTC(2026, 10, 21, 12) } });
  orgId = (await app.accounts.orgs.list())[0]!.id;
});
afterAll(() => app.stop());

const admin = (method: string, path: string, json?: unknown) =>
  app.call(method, `/v1/admin/orgs${path}`, { key: app.keys.admin, ...(json !== undefined && { json }) });
const setBudget = (budget: unknown) => admin('PATCH', `/${orgId}`, { budget });
/** Adds this amount to the ledger. */
const spend = (nano: number) =>
  addToLedger(app.store, [
    {
      sourceId: `req_${++others}`,
      keyId: null,
      orgId,
      model: 'tiny',
      day: '2026-11-20',
      requests: 1,
      usage: { inputTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 },
      amount: nano,
    },
  ]);
const post = (path: string, json: object, key = app.keys.a, headers = {}) =>
  app.call('POST', path, { json, key, headers });
const messages = [{ role: 'user', content: 'hi [[tokens 2]]' }];
const batch = {
  endpoint: '/v1/chat/completions',
  completion_window: '24h',
  requests: [
    { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: { model: 'tiny', messages } },
  ],
};

describe('the budget of an org', () => {
  it('is set and removed, and shown with the amount spent', async () => {
    const made = await admin('POST', '', { name: 'rich', budget: { amount: '50.50', period: 'total' } });
    const total = {
      amount: '50.5',
      period: 'total',
      hard: true,
      spent: '0',
      reached_at: null,
      begins_again_at: null,
    };
    expect([made.status, made.json.budget]).toEqual([201, total]);
    const changed = await admin('PATCH', `/${made.json.id}`, { name: 'poor' });
    expect([changed.status, changed.json.name, changed.json.budget]).toEqual([200, 'poor', total]);
    await spend(1_500_000_000);
    const { json } = await setBudget({ amount: '2', period: 'month' });
    const month = {
      amount: '2',
      period: 'month',
      hard: true,
      spent: '1.5',
      reached_at: null,
      begins_again_at: '2026-12-01T00:00:00Z',
    };
    expect(json).toMatchObject({ id: orgId, name: 'default', budget: month });
    const { json: list } = await admin('GET', '');
    expect(list.data.map((org: { budget: unknown }) => org.budget)).toEqual([month, null, total]);
    expect((await setBudget(null)).json.budget).toBeNull();
  });

  it('422 and 404: rejects an invalid budget and an unknown org', async () => {
    for (const [budget, param] of [
      [{ amount: 5, period: 'month' }, 'budget.amount'],
      [{ amount: '-5', period: 'month' }, 'budget.amount'],
      [{ amount: '9000000', period: 'month' }, 'budget.amount'],
      [{ amount: '5', period: 'day' }, 'budget.period'],
      [{ amount: '5' }, 'budget.period'],
      ['5/month', 'budget'],
    ] as const) {
      const { status, json } = await setBudget(budget);
      expect([status, json.error.param]).toEqual([422, param]);
    }
    expect((await admin('PATCH', '/org_0', { name: 'x' })).status).toBe(404);
    expect((await app.call('PATCH', `/v1/admin/orgs/${orgId}`, { json: { name: 'x' } })).status).toBe(403);
  });

  it('402: a used-up budget rejects everything that costs before it reaches an engine', async () => {
    const key = 'Idempotency-Key';
    const first = await post('/v1/batches', batch, app.keys.a, { [key]: 'one' });
    expect(first.status).toBe(201);
    await app.call('POST', `/v1/batches/${first.json.id}/cancel`);
    await setBudget({ amount: '1', period: 'total' });
    const { calls } = app.engine.stats();
    const refused: [string, object, string][] = [
      ['/v1/chat/completions', { model: 'tiny', messages }, 'insufficient_quota'],
      ['/v1/chat/completions', { model: 'tiny', messages, stream: true }, 'insufficient_quota'],
      ['/v1/responses', { model: 'tiny', input: 'hi' }, 'insufficient_quota'],
      ['/v1/responses', { model: 'tiny', input: 'hi', stream: true }, 'insufficient_quota'],
      ['/v1/responses', { model: 'tiny', input: 'hi', background: true }, 'insufficient_quota'],
      ['/v1/messages', { model: 'tiny', max_tokens: 5, messages }, 'billing_error'],
      ['/v1/messages', { model: 'tiny', max_tokens: 5, messages, stream: true }, 'billing_error'],
      ['/v1/embeddings', { model: 'tiny', input: 'hi' }, 'insufficient_quota'],
      ['/v1/batches', batch, 'insufficient_quota'],
    ];
    for (const [path, json, type] of refused) {
      const { status, json: body, headers } = await post(path, json);
      expect([path, status, body.error?.type, body.error?.code], JSON.stringify(body)).toEqual([
        path,
        402,
        type,
        'budget_exceeded',
      ]);
      expect(headers.get('x-should-retry')).toBe('false');
      expect(body.error.message).toBe(
        "The org's budget is used up: 1.5 of 1 USD spent. An administrator can raise it.",
      );
    }
    expect(app.engine.stats().calls).toBe(calls);
    // Free calls, existing objects and other orgs are unaffected.
    const count = { model: 'tiny', messages };
    expect((await post('/v1/messages/count_tokens', count)).status).toBe(200);
    expect((await post('/v1/batches', { ...batch, dry_run: true })).status).toBe(200);
    const replayed = await post('/v1/batches', batch, app.keys.a, { [key]: 'one' });
    expect([replayed.status, replayed.json.id]).toEqual([201, first.json.id]);
    expect((await post('/v1/chat/completions', { model: 'tiny', messages }, app.keys.b)).status).toBe(200);
    expect((await app.store.orgs.budgets(0))[0]!.spent).toBe(1_500_000_000);
    await setBudget(null);
    expect((await post('/v1/chat/completions', { model: 'tiny', messages })).status).toBe(200);
  });
});

describe('what a request in flight reserves', () => {
  it('is what the model can generate, whatever the maximum, so that others of the org get in', async () => {
    await setBudget({ amount: '10', period: 'total' });
    const client = new AbortController();
    const hang = { model: 'tiny', messages: [{ role: 'user', content: '[[hang]]' }] };
    const before = app.engine.stats().running;
    const hanging = fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      signal: client.signal,
      headers: { authorization: `Bearer ${app.keys.a}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...hang, max_tokens: 2 ** 31 - 1 }),
    }).catch(() => {});
    await expect.poll(() => app.engine.stats().running).toBe(before + 1);
    expect((await post('/v1/chat/completions', { model: 'tiny', messages })).status).toBe(200);
    client.abort();
    await hanging;
    await setBudget(null);
  });
});

describe('the budget of a key', () => {
  const ask = (key: string) => post('/v1/chat/completions', { model: 'tiny', messages }, key);
  const keys = (method: string, path: string, json: object) =>
    app.call(method, `/v1/admin/keys${path}`, { key: app.keys.admin, json });
  const budget = { amount: '0', period: 'total' };

  it('applies to the first request of a new key, and at once after a change or a rotation', async () => {
    await setBudget(null);
    const made = (await keys('POST', '', { org_id: orgId, budget })).json;
    expect((await ask(made.key)).status).toBe(402);
    const rotated = (await keys('POST', `/${made.id}/rotate`, {})).json;
    expect((await ask(rotated.key)).status).toBe(402);
    await keys('PATCH', `/${rotated.id}`, { budget: null });
    expect((await ask(rotated.key)).status).toBe(200);
    await keys('PATCH', `/${rotated.id}`, { budget });
    expect((await ask(rotated.key)).status).toBe(402);
  });
});
