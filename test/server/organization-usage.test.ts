import { Ajv2020 } from 'ajv/dist/2020.js';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/system.ts';
import { bucketPageSchema } from '../../src/server/openapi/usage-schemas.ts';
import { addToLedger } from '../store/fixtures.ts';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';

let app: RunningServer;
let orgs: { a: string; b: string };
let admin: OpenAI;
const now = Date.UTC(2026, 10, 21, 12, 30);
const seconds = (day: number, hour = 0) => Date.UTC(2026, 10, day, hour) / 1_000;

beforeAll(async () => {
  app = await startServer({ clock: { ...systemClock, now: () => now } });
  const [a, b] = await app.accounts.orgs.list();
  orgs = { a: a!.id, b: b!.id };
  admin = new OpenAI({ baseURL: `${app.url}/v1`, adminAPIKey: app.keys.admin, maxRetries: 0 });
  const used = (day: string, endpoint: string, sourceId: string, fields = {}) => ({
    sourceId,
    keyId: 'key_1',
    orgId: orgs.a,
    model: 'tiny',
    endpoint,
    day,
    requests: 2,
    usage: { inputTokens: 10, cachedTokens: 4, cacheWriteTokens: 1, outputTokens: 3, reasoningTokens: 2 },
    amount: 1_500_000_000,
    ...fields,
  });
  await addToLedger(app.store, [
    used('2026-11-19T09', '/v1/chat/completions', 'single:1'),
    used('2026-11-19T10', '/v1/messages', 'flex:key_1', { model: 'other' }),
    used('2026-11-19T10', '/v1/embeddings', 'single:3'),
    used('2026-11-19T11', '/v1/moderations', 'single:4', { amount: 0 }),
    used('2026-11-21T12', '/v1/chat/completions', 'batch_1', { orgId: orgs.b }),
    used('2026-11-21T12', '/v1/chat/completions', 'batch_2', { orgId: orgs.b }),
  ]);
});
afterAll(() => app.stop());

const nothing = { project_id: null, user_id: null, api_key_id: null, model: null };
const get = (path: string, key = app.keys.admin) => app.call('GET', `/v1/organization/${path}`, { key });

describe("usage in OpenAI's form, read by OpenAI's SDK", () => {
  it('has a bucket for each day, with the sum of all orgs', async () => {
    const page = await admin.admin.organization.usage.completions({
      start_time: seconds(19),
      end_time: seconds(22),
    });
    expect(page).toMatchObject({ object: 'page', has_more: false, next_page: null });
    const sum = {
      object: 'organization.usage.completions.result',
      input_tokens: 20,
      output_tokens: 6,
      input_cached_tokens: 8,
      input_audio_tokens: 0,
      output_audio_tokens: 0,
      num_model_requests: 4,
      ...nothing,
      batch: null,
      service_tier: null,
    };
    expect(page.data).toEqual([
      { object: 'bucket', start_time: seconds(19), end_time: seconds(20), results: [sum] },
      { object: 'bucket', start_time: seconds(20), end_time: seconds(21), results: [] },
      { object: 'bucket', start_time: seconds(21), end_time: seconds(22), results: [sum] },
    ]);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    expect(ajv.validate(bucketPageSchema, page), ajv.errorsText()).toBe(true);
  });

  it('groups and filters', async () => {
    const { data } = await admin.admin.organization.usage.completions({
      start_time: seconds(19),
      group_by: ['project_id', 'model', 'batch'],
      models: ['tiny'],
    });
    expect(
      data
        .flatMap(({ results }) => results as Json[])
        .map((each) => [each.project_id, each.model, each.batch, each.num_model_requests]),
    ).toEqual([
      [orgs.a, 'tiny', false, 2],
      [orgs.b, 'tiny', true, 4],
    ]);
    const batches = await admin.admin.organization.usage.completions({
      start_time: seconds(19),
      batch: true,
    });
    expect(batches.data.map(({ results }) => results.length)).toEqual([0, 0, 1]);
    const embedded = await admin.admin.organization.usage.embeddings({
      start_time: seconds(19),
      project_ids: [orgs.a],
    });
    expect(embedded.data[0]!.results).toEqual([
      { object: 'organization.usage.embeddings.result', input_tokens: 10, num_model_requests: 2, ...nothing },
    ]);
  });

  it('has a report of moderations', async () => {
    const { data } = await admin.admin.organization.usage.moderations({ start_time: seconds(19) });
    expect(data[0]!.results).toEqual([
      {
        object: 'organization.usage.moderations.result',
        input_tokens: 10,
        num_model_requests: 2,
        ...nothing,
      },
    ]);
  });

  it('pages through buckets of an hour', async () => {
    const starts: number[] = [];
    const requests: number[] = [];
    let page: string | undefined;
    do {
      const found = await admin.admin.organization.usage.completions({
        start_time: seconds(19, 9),
        end_time: seconds(19, 14),
        bucket_width: '1h',
        limit: 2,
        ...(page !== undefined && { page }),
      });
      for (const { start_time: start, results } of found.data) {
        starts.push(start);
        requests.push(...(results as Json[]).map((each) => each.num_model_requests));
      }
      page = found.next_page ?? undefined;
      expect(found.has_more).toBe(page !== undefined);
    } while (page !== undefined);
    expect(starts).toEqual([9, 10, 11, 12, 13].map((hour) => seconds(19, hour)));
    expect(requests).toEqual([2, 2]);
  });

  it('has the costs by line item', async () => {
    const { data } = await admin.admin.organization.usage.costs({
      start_time: seconds(19),
      limit: 3,
      group_by: ['line_item'],
    });
    expect(data[0]!.results).toEqual([
      {
        object: 'organization.costs.result',
        amount: { value: 1.5, currency: 'usd' },
        project_id: null,
        line_item: 'other',
        api_key_id: null,
        service_tier: null,
      },
      {
        object: 'organization.costs.result',
        amount: { value: 3, currency: 'usd' },
        project_id: null,
        line_item: 'tiny',
        api_key_id: null,
        service_tier: null,
      },
    ]);
  });

  it('groups by the tier that served the requests', async () => {
    const { data } = await admin.admin.organization.usage.completions({
      start_time: seconds(19),
      group_by: ['service_tier'],
    });
    const tiers = data.flatMap(({ results }) => results as Json[]);
    expect(tiers.map((each) => [each.service_tier, each.num_model_requests])).toEqual([
      ['default', 2],
      ['flex', 2],
      ['batch', 4],
    ]);
    const costs = (await get(`costs?start_time=${seconds(21)}&group_by=service_tier`)).json;
    expect(costs.data[0].results).toEqual([
      expect.objectContaining({ service_tier: 'batch', amount: { value: 3, currency: 'usd' } }),
    ]);
  });

  it('shows a key without the scope admin its own org alone', async () => {
    const start = seconds(19);
    const own = await get(`usage/completions?start_time=${start}&group_by=project_id`, app.keys.a);
    const seen = own.json.data.flatMap((bucket: Json) => bucket.results.map((each: Json) => each.project_id));
    expect(seen).toEqual([orgs.a]);
    const foreign = await get(`costs?start_time=${start}&project_ids=${orgs.b}`, app.keys.a);
    expect(foreign.json.data.every((bucket: Json) => bucket.results.length === 0)).toBe(true);
  });

  it('takes the orgs of project_ids by name for an admin key', async () => {
    const start = seconds(19);
    const named = await get(
      `usage/completions?start_time=${start}&project_ids=second&group_by=project_id`,
      app.keys.admin,
    );
    expect(named.status).toBe(200);
    const seen = named.json.data.flatMap((bucket: Json) =>
      bucket.results.map((each: Json) => each.project_id),
    );
    expect(new Set(seen)).toEqual(new Set([orgs.b]));
    const unknown = await get(`costs?start_time=${start}&project_ids=${orgs.a},nope`, app.keys.admin);
    expect([unknown.status, unknown.json.error.param]).toEqual([422, 'project_ids']);
    // Models and keys are recorded with the usage, and may be gone.
    const gone = await get(`usage/completions?start_time=${start}&models=gone`, app.keys.admin);
    expect(gone.json.data.every((bucket: Json) => bucket.results.length === 0)).toBe(true);
  });

  it.each([
    ['usage/completions', 'start_time', 'is required'],
    [`usage/completions?start_time=${seconds(19)}&user_ids=u1`, 'user_ids', 'use api_key_ids'],
    ['usage/completions?start_time=yesterday', 'start_time', 'expected Unix seconds'],
    [`usage/completions?start_time=${seconds(19)}&end_time=${seconds(19)}`, 'end_time', 'after start_time'],
    [
      `usage/completions?start_time=${seconds(19)}&bucket_width=1m`,
      'bucket_width',
      'expected one of "1d", "1h"',
    ],
    [`usage/completions?start_time=1730000000&bucket_width=1h`, 'start_time', 'kept for 40 days'],
    [`usage/embeddings?start_time=1&group_by[]=batch`, 'group_by', 'expected any of project_id'],
    [`usage/completions?start_time=1&limit=32`, 'limit', 'from 1 to 31'],
    [`usage/completions?start_time=1&page=AAAA`, 'page', 'is not a next_page'],
    [`costs?start_time=1&models=x`, 'models', 'known are start_time'],
  ])('422: %s', async (path, param, message) => {
    const { status, json } = await get(path);
    expect([status, json.error.param]).toEqual([422, param]);
    expect(json.error.message).toContain(message);
  });
});
