import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverActor } from '../../src/core/audit.ts';
import { systemClock } from '../../src/base/system.ts';
import type { KeyScope } from '../../src/core/org.ts';
import { noUsage } from '../../src/core/usage.ts';
import { usageSchema } from '../../src/server/openapi/usage-schemas.ts';
import { addToLedger } from '../store/fixtures.ts';
import { type CallOptions, type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
let orgs: { a: string; b: string };

beforeAll(async () => {
  app = await startServer({ clock: { ...systemClock, now: () => Date.UTC(2026, 10, 21, 12) } });
  const [a, b] = await app.accounts.orgs.list();
  orgs = { a: a!.id, b: b!.id };
  let n = 0;
  const used = (orgId: string, model: string, day: string, amount = 1_500_000) => ({
    sourceId: model === 'tiny' ? `req_${++n}` : `batch_${++n}`,
    keyId: model === 'tiny' ? null : 'key_1',
    orgId,
    model,
    day,
    requests: 1,
    usage: { inputTokens: 10, cachedTokens: 4, cacheWriteTokens: 0, outputTokens: 3, reasoningTokens: 2 },
    amount,
  });
  await addToLedger(app.store, [
    used(orgs.a, 'tiny', '2026-10-22'),
    used(orgs.a, 'tiny', '2026-10-23'),
    used(orgs.a, 'tiny', '2026-11-21'),
    used(orgs.a, 'tiny', '2026-11-21'),
    used(orgs.a, 'org/model:tag', '2026-11-21'),
    used(orgs.b, 'secret,"model"', '2026-11-20', 40_000_000_000),
  ]);
});
afterAll(() => app.stop());

const usage = (query = '', options?: CallOptions) => app.call('GET', `/v1/usage${query}`, options);
const keyWith = async (scopes: KeyScope[], orgId = orgs.a) =>
  (await app.accounts.keys.create(serverActor, { orgId, scopes })).key;
const once = {
  requests: 1,
  input_tokens: 10,
  cached_tokens: 4,
  cache_write_tokens: 0,
  output_tokens: 3,
  reasoning_tokens: 2,
  amount: '0.0015',
};

describe('GET /v1/usage', () => {
  it('200: the last 30 days of the org by day and model', async () => {
    const { status, json } = await usage('', { key: await keyWith(['usage']) });
    expect(status).toBe(200);
    expect(json).toEqual({
      object: 'list',
      data: [
        { id: '2026-10-23,tiny', day: '2026-10-23', model: 'tiny', ...once },
        { id: '2026-11-21,org%2Fmodel%3Atag', day: '2026-11-21', model: 'org/model:tag', ...once },
        {
          id: '2026-11-21,tiny',
          day: '2026-11-21',
          model: 'tiny',
          requests: 2,
          input_tokens: 20,
          cached_tokens: 8,
          cache_write_tokens: 0,
          output_tokens: 6,
          reasoning_tokens: 4,
          amount: '0.003',
        },
      ],
      first_id: '2026-10-23,tiny',
      last_id: '2026-11-21,tiny',
      has_more: false,
      start: '2026-10-23',
      end: '2026-11-21',
      group_by: ['day', 'model'],
      org_id: orgs.a,
      org: 'default',
      currency: 'USD',
      budgets: [],
      total: {
        requests: 4,
        input_tokens: 40,
        cached_tokens: 16,
        cache_write_tokens: 0,
        output_tokens: 12,
        reasoning_tokens: 8,
        amount: '0.006',
      },
    });
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    expect(ajv.validate(usageSchema, json), ajv.errorsText()).toBe(true);
  });

  it.each([
    ['start_date=2020-01-01&end_date=2020-01-02', ['start_date', 'end_date'], 'did you mean start?'],
    ['start_time=1', ['start_time'], 'did you mean start?'],
    ['from=2020-01-01&to=2020-01-02', ['from', 'to'], 'known are start, end, group_by, org_id, limit, after'],
    ['model=nope', ['model'], 'known are start'],
    ['grup_by=day', ['grup_by'], 'did you mean group_by?'],
    ['__proto__=1', ['__proto__'], 'unknown parameter'],
    ['beta=true&days=3', ['days'], 'unknown parameter'],
  ])('422: rejects unknown parameters, which would change the total: %s', async (query, params, message) => {
    const { status, json } = await usage(`?${query}`);
    expect(status).toBe(422);
    expect(json.error.param).toBe(params[0]);
    expect(json.error.details.errors.map(({ param }: Json) => param)).toEqual(params);
    expect(json.error.message).toContain(message);
  });

  it.each(['start', 'end', 'group_by', 'org_id'])(
    '422: rejects an empty %s, which would change the total',
    async (param) => {
      const { status, json } = await usage(`?${param}=`);
      expect([status, json.error.param]).toEqual([422, param]);
      expect(json.error.message).toContain('must not be empty');
    },
  );

  it('200: by key and batch, null for rows without one', async () => {
    const { json } = await usage('?start=2026-10-01&end=2026-11-30&group_by=key,batch', {
      key: await keyWith(['usage']),
    });
    const rows = json.data.map(({ id, key_id, batch_id, requests }: Json) => ({
      id,
      key_id,
      batch_id,
      requests,
    }));
    expect(rows).toEqual([
      { id: ',', key_id: null, batch_id: null, requests: 4 },
      { id: 'key_1,batch_5', key_id: 'key_1', batch_id: 'batch_5', requests: 1 },
    ]);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    expect(ajv.validate(usageSchema, json), ajv.errorsText()).toBe(true);
  });

  it('200: with the budgets of the org and its keys, and when they were reached', async () => {
    const { apiKey } = await app.accounts.keys.create(serverActor, {
      orgId: orgs.a,
      name: 'capped',
      budget: { amount: 1, period: 'total', hard: false },
    });
    await addToLedger(app.store, [
      {
        sourceId: 'single:x',
        keyId: apiKey.id,
        orgId: orgs.a,
        model: 'tiny',
        day: '2026-08-01T00',
        requests: 1,
        usage: noUsage,
        amount: 2,
      },
    ]);
    const { json } = await usage();
    expect(json.budgets).toEqual([
      {
        org_id: orgs.a,
        org: 'default',
        key_id: apiKey.id,
        key_name: 'capped',
        amount: '0.000000001',
        period: 'total',
        hard: false,
        spent: '0.000000002',
        reached_at: expect.stringMatching(/Z$/),
      },
    ]);
    expect((await usage('', { key: app.keys.b })).json.budgets).toEqual([]);
    await app.accounts.keys.revoke(serverActor, apiKey.id);
  });

  it('200: ignores api-version', async () => {
    expect((await usage('?api-version=preview')).status).toBe(200);
  });

  it('200: other days and groups, page by page', async () => {
    const first = await usage('?start=2026-10-01&end=2026-11-30&limit=2');
    expect(first.json).toMatchObject({ has_more: true, group_by: ['day', 'model'], total: { requests: 5 } });
    const ids = first.json.data.map(({ id }: Json) => id);
    let page = first.json;
    while (page.has_more) {
      const query = new URLSearchParams({ start: '2026-10-01', end: '2026-11-30', after: page.last_id });
      page = (await usage(`?${query.toString()}&limit=1`)).json;
      expect(page.total).toBeNull();
      ids.push(...page.data.map(({ id }: Json) => id));
    }
    expect(ids).toEqual([
      '2026-10-22,tiny',
      '2026-10-23,tiny',
      '2026-11-21,org%2Fmodel%3Atag',
      '2026-11-21,tiny',
    ]);
    const byModel = await usage('?end=2026-10-22&group_by=model');
    expect(byModel.json).toMatchObject({
      start: '2026-09-23',
      data: [{ id: 'tiny', model: 'tiny', ...once }],
    });
    expect((await usage('?start=2026-12-01&end=2026-12-01')).json).toMatchObject({
      data: [],
      last_id: null,
      total: { requests: 0, amount: '0' },
    });
  });

  it('200: groups, sorts and names in the order of group_by', async () => {
    const { json } = await usage('?group_by=model,org&end=2026-11-21', { key: app.keys.admin });
    expect(json).toMatchObject({ group_by: ['model', 'org'], org_id: null, org: null });
    expect(json.data.map((row: Json) => [row.model, row.org])).toEqual([
      ['org/model:tag', 'default'],
      ['secret,"model"', 'second'],
      ['tiny', 'default'],
    ]);
    const byKey = await usage('?group_by=key', { key: app.keys.admin });
    expect(byKey.json.data.every((row: Json) => 'key_name' in row)).toBe(true);
  });

  it('shows an admin all orgs or one, and others only their own org', async () => {
    const { admin, b } = app.keys;
    const all = await usage('?group_by=org', { key: admin });
    expect(all.json.data.map((row: Json) => [row.org_id, row.amount])).toEqual([
      [orgs.a, '0.006'],
      [orgs.b, '40'],
    ]);
    const one = await usage(`?group_by=org&org_id=${orgs.b}`, { key: admin });
    expect(one.json.data.map((row: Json) => row.org_id)).toEqual([orgs.b]);
    for (const query of ['', '?group_by=org', '?group_by=model', `?org_id=${orgs.a}`]) {
      const { status, text } = await usage(query);
      expect(status).toBe(200);
      expect(text).not.toMatch(new RegExp(`secret|${orgs.b}`));
    }
    expect((await usage('?group_by=org', { key: b })).json.total.amount).toBe('40');
    const nobody = await usage('?org_id=org_nobody', { key: admin });
    expect([nobody.status, nobody.json.error.message]).toEqual([
      422,
      expect.stringMatching(/^org_id: there is no (such )?org/),
    ]);
    const foreign = await usage(`?org_id=${orgs.b}`);
    expect([foreign.status, foreign.json.error.code]).toEqual([403, 'permission_denied']);
    const without = await usage('', { key: await keyWith(['inference', 'batches', 'files']) });
    expect([without.status, without.json.error.code]).toEqual([403, 'permission_denied']);
    expect(without.json.error.message).toContain('"usage"');
  });

  it('returns CSV on request', async () => {
    const headers = { accept: 'text/csv' };
    const {
      status,
      text,
      headers: told,
    } = await usage('?limit=1&group_by=org,model', {
      headers,
      key: app.keys.admin,
    });
    expect([status, told.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    const head =
      'org_id,org,model,requests,input_tokens,cached_tokens,output_tokens,amount,reasoning_tokens,cache_write_tokens\r\n';
    expect(text).toBe(`${head}${orgs.a},default,org/model:tag,1,10,4,3,0.0015,2,0\r\n`);
    expect(told.get('x-incomplete')).toBe('true');
    const after = encodeURIComponent(told.get('x-last-id') ?? '');
    const { text: rest } = await usage(`?group_by=org,model&after=${after}`, {
      headers,
      key: app.keys.admin,
    });
    expect(rest.split('\r\n').slice(1)).toEqual([
      `${orgs.a},default,tiny,3,30,12,9,0.0045,6,0`,
      `${orgs.b},second,"secret,""model""",1,10,4,3,40,2,0`,
      '',
    ]);
    const none = await usage('?end=2020-01-01', { headers });
    expect([none.text.split('\r\n').length, none.headers.get('x-incomplete')]).toEqual([2, 'false']);
  });

  it.each([
    ['start=yesterday', 'start', 'expected a day (UTC) such as 2026-11-21'],
    ['start=2026-02-30', 'start', 'expected a day'],
    ['end=2026-11-21T00:00:00Z', 'end', 'expected a day'],
    ['end=2026-11-01&end=2026-11-02', 'end', 'more than once'],
    ['start=2026-11-22', 'start', 'after end, which is 2026-11-21'],
    ['start=2025-11-20', 'start', 'at most 366 days'],
    [
      'group_by=day,minute',
      'group_by',
      'expected any of day, hour, model, org, key, endpoint, batch, tier, tag',
    ],
    ['group_by=day,day', 'group_by', 'each at most once'],
    ['limit=0', 'limit', 'from 1 to 10000'],
    ['after=tiny', 'after', 'is not an id of this list'],
    ['after=2026-11-21,%2500', 'after', 'is not an id of this list'],
    ['after=2026-11-21,%25', 'after', 'is not an id of this list'],
    ['org_id=%00', 'org_id', 'NUL'],
  ])('422: %s', async (query, param, message) => {
    const { status, json } = await usage(`?${query}`);
    expect([status, json.error.param]).toEqual([422, param]);
    expect(json.error.message).toContain(message);
    expect(json.detail[0].loc).toEqual(['query', param]);
  });

  // Last: it adds usage.
  it('200: by hour, endpoint and tag, for what was used with them', async () => {
    const row = (day: string, tag: string, endpoint = '/v1/messages') => ({
      sourceId: `single:k:${endpoint}:${tag}`,
      keyId: 'k',
      orgId: orgs.b,
      model: 'tiny',
      endpoint,
      tag,
      day,
      requests: 2,
      usage: noUsage,
      amount: 1_000,
    });
    await addToLedger(app.store, [
      row('2026-11-19T09', '=1+1'),
      row('2026-11-19T23', '=1+1'),
      row('2026-11-19T23', '', '/v1/embeddings'),
    ]);
    const day = 'start=2026-11-19&end=2026-11-19';
    const key = app.keys.b;
    const { json } = await usage(`?${day}&group_by=hour,endpoint,tag`, { key });
    expect(json.data.map(({ hour, endpoint, tag }: Json) => [hour, endpoint, tag])).toEqual([
      ['2026-11-19T09:00:00Z', '/v1/messages', '=1+1'],
      ['2026-11-19T23:00:00Z', '/v1/embeddings', null],
      ['2026-11-19T23:00:00Z', '/v1/messages', '=1+1'],
    ]);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    expect(ajv.validate(usageSchema, json), ajv.errorsText()).toBe(true);
    const { text } = await usage(`?${day}&group_by=tag`, { key, headers: { accept: 'text/csv' } });
    expect(text.split('\r\n').slice(1)).toEqual([',2,0,0,0,0.000001,0,0', "'=1+1,4,0,0,0,0.000002,0,0", '']);
    const old = await usage('?start=2026-10-11&group_by=hour', { key });
    expect([old.status, old.json.error.param]).toEqual([422, 'start']);
    expect(old.json.error.message).toContain('usage by the hour is kept for 40 days, from 2026-10-12 on');
    expect((await usage('?start=2026-10-12&group_by=hour', { key })).status).toBe(200);
  });
});
