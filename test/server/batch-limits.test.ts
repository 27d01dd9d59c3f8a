import { afterEach, describe, expect, it } from 'vitest';
import type { BatchLimits } from '../../src/batches/batch-context.ts';
import type { Engine } from '../../src/engines/engines.ts';
import { type CallOptions, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
afterEach(() => app.stop());

/** Starts a server whose engine never answers. */
const start = async (queueLimits: Partial<BatchLimits> = {}) => {
  const hangs: Engine['generate'] = (_, { signal }) =>
    new Promise((__, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  app = await startServer({ queueLimits, engine: (scripted) => ({ ...scripted, generate: hangs }) });
};
const requests = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    custom_id: `line ${at}`,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'tiny', messages: [{ role: 'user', content: 'hi' }], max_tokens: 100 },
  }));
const create = (count: number, more: object = {}, how: CallOptions = {}) =>
  app.call('POST', '/v1/batches', {
    json: { endpoint: '/v1/chat/completions', completion_window: '24h', requests: requests(count), ...more },
    ...how,
  });

describe('limits on batches', () => {
  it('refuse a batch beyond the queued requests, and take one after another was cancelled', async () => {
    await start({ perOrg: { queuedRequests: 5 } });
    const first = await create(4);
    expect(first.status).toBe(201);
    const refused = await create(2);
    expect(refused.status).toBe(429);
    expect(refused.json.error).toMatchObject({
      type: 'rate_limit_error',
      code: 'queued_requests_exceeded',
      message:
        'The limit of this organization, 5 queued requests (queued_requests), is used up: 4 used, 2 needed. ' +
        'Try again when some have ended.',
    });
    expect(refused.headers.get('retry-after')).toBe('60');
    expect((await create(2, {}, { key: app.keys.b })).status).toBe(201);
    await app.call('POST', `/v1/batches/${first.json.id}/cancel`);
    expect((await create(2)).status).toBe(201);
  });

  it('show in a dry run whether a batch fits, and by how much', async () => {
    await start({ perOrg: { queuedTokens: { default: 1_000 } }, perKey: { openBatches: 1 } });
    const dry = await create(3, { dry_run: true });
    const { quota } = dry.json;
    const adds = quota.limits[1].adds;
    const storage = { name: 'stored_bytes', owner: 'org', model: null, limit: 1e9, used: 0 };
    expect(quota).toEqual({
      fits: true,
      reasons: [],
      limits: [
        { name: 'open_batches', owner: 'org', model: null, limit: 1000, used: 0, adds: 1 },
        { name: 'queued_tokens', owner: 'org', model: 'tiny', limit: 1000, used: 0, adds },
        { name: 'open_batches', owner: 'key', model: null, limit: 1, used: 0, adds: 1 },
        { ...storage, adds: expect.any(Number) },
      ],
      budgets: [],
    });
    expect(adds).toBeGreaterThan(300);
    // No request has ended, so that no rate is known.
    expect(dry.json.forecast).toEqual({ eta: null, tokens_ahead: 0, at_risk: false, waiting: null });
    expect((await create(3)).status).toBe(201);
    await expect
      .poll(async () => (await create(3, { dry_run: true })).json.forecast.tokens_ahead, { timeout: 10_000 })
      .toBe(adds);
    expect((await create(3, { dry_run: true })).json.quota).toMatchObject({
      fits: false,
      limits: [{ used: 1 }, { used: adds, adds }, { used: 1 }, {}],
    });
  });

  it('are the reasons of a dry run, with the errors of the creation', async () => {
    await start({ perOrg: { queuedRequests: 1 } });
    const orgId = (await app.accounts.orgs.list())[0]!.id;
    const budget = { amount: '0', period: 'total' };
    const settings = { budget, limits: { stored_bytes: 10 } };
    await app.call('PATCH', `/v1/admin/orgs/${orgId}`, { key: app.keys.admin, json: settings });
    const dry = await create(2, { dry_run: true });
    expect(dry.status).toBe(200);
    const { fits, reasons, budgets, limits } = dry.json.quota;
    expect(fits).toBe(false);
    expect(reasons.map(({ code }: { code: string }) => code)).toEqual([
      'budget_exceeded',
      'queued_requests_exceeded',
      'storage_quota_exceeded',
    ]);
    expect(budgets).toEqual([
      { owner: 'org', period: 'total', hard: true, amount: '0', spent: '0', adds: dry.json.cost.amount },
    ]);
    expect(limits.at(-1)).toMatchObject({ name: 'stored_bytes', limit: 10, used: 0 });
    expect(limits.at(-1).adds).toBeGreaterThan(300);
    // The creation is refused for each of them, once those before are lifted.
    const lift = (json: object) =>
      app.call('PATCH', `/v1/admin/orgs/${orgId}`, { key: app.keys.admin, json });
    const refused: unknown[] = [];
    const attempt = async () => {
      const { code, message } = (await create(2)).json.error;
      refused.push({ code, message });
    };
    await attempt();
    await lift({ limits: { stored_bytes: null } });
    await attempt();
    await lift({ budget: null });
    await attempt();
    expect(refused).toEqual([reasons[2], reasons[0], reasons[1]]);
    expect((await app.call('GET', '/v1/files')).json.data).toEqual([]);
  });

  it('tell clients not to repeat a batch that can never fit', async () => {
    await start({ perOrg: { queuedTokens: { tiny: 100 } } });
    const refused = await create(3);
    expect([refused.status, refused.json.error.code]).toEqual([429, 'queued_tokens_exceeded']);
    expect(refused.headers.get('x-should-retry')).toBe('false');
    expect(refused.headers.get('retry-after')).toBeNull();
    expect(refused.json.error.message).toContain('Split the batch');
    expect((await app.call('GET', '/v1/batches')).json.data).toEqual([]);
  });
});

describe('the priority of a batch', () => {
  it('is shown, and is checked', async () => {
    await start();
    expect((await create(1, { priority: 9 })).json.priority).toBe(9);
    expect((await create(1)).json.priority).toBe(5);
    for (const priority of [10, -1, 2.5, 'high']) {
      const refused = await create(1, { priority });
      expect([refused.status, refused.json.error.param]).toEqual([422, 'priority']);
    }
  });
});
