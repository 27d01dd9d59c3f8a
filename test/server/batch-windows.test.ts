import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/system.ts';
import type { Clock } from '../../src/base/clock.ts';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';

const minute = 60_000;
const day = 86_400_000;
const windows = [
  { ms: minute, priceFactor: 0.8 },
  { ms: day, priceFactor: 0.5 },
  { ms: 7 * day, priceFactor: 0.4 },
] as const;

let app: RunningServer;
let hangs: boolean;

// Each answer takes ten seconds of the clock, so that the measured rate is below that of the machine.
beforeEach(async () => {
  let passed = 0;
  hangs = false;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + passed,
    monotonic: () => systemClock.monotonic() + passed,
  };
  app = await startServer({
    clock,
    windows,
    engine: (scripted) => ({
      ...scripted,
      generate(request, options) {
        if (hangs)
          return new Promise((_, reject) => {
            options.signal.addEventListener('abort', () => reject(options.signal.reason as Error));
          });
        passed += 10_000;
        return scripted.generate(request, options);
      },
    }),
  });
});
afterEach(() => app.stop());

const requests = (count: number, content = 'hi') =>
  Array.from({ length: count }, (_, at) => ({
    custom_id: `line ${at}`,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'tiny', messages: [{ role: 'user', content }], max_tokens: 100 },
  }));
const create = (count: number, window: string, more: object = {}, headers: Record<string, string> = {}) =>
  app.call('POST', '/v1/batches', {
    json: { endpoint: '/v1/chat/completions', completion_window: window, requests: requests(count), ...more },
    headers,
  });
const count = async (path: string) => (await app.call('GET', path)).json.data.length as number;

async function finished(id: string): Promise<Json> {
  const get = async () => (await app.call('GET', `/v1/batches/${id}`)).json;
  await expect.poll(async () => (await get()).status, { timeout: 20_000 }).toMatch(/completed|expired/);
  return get();
}

/** Runs a batch, so that the rate of the model is known. */
const measure = async () => finished((await create(3, '24h')).json.id);

describe('completion windows', () => {
  it('are offered at their prices, and named by any spelling of their length', async () => {
    for (const [named, shown, factor] of [
      ['60s', '1m', 0.8],
      ['24h', '24h', 0.5],
      ['168h', '7d', 0.4],
    ] as const) {
      const { status, json } = await create(2, named);
      expect([status, json.completion_window]).toEqual([201, shown]);
      const { cost, created_at: created, expires_at: expires } = await finished(json.id);
      expect(Number(cost.amount) / Number(cost.list_amount)).toBeCloseTo(factor, 6);
      expect(Date.parse(expires) - Date.parse(created)).toBe(
        { '1m': minute, '24h': day, '7d': 7 * day }[shown],
      );
    }
    const unknown = await create(2, '2h');
    expect([unknown.status, unknown.json.error.message]).toEqual([
      422,
      'completion_window: expected "1m" or "24h" or "7d", got "2h"',
    ]);
  });

  it('are quoted by a dry run, with their price and whether they can be met', async () => {
    const unmeasured = (await create(60, '1m', { dry_run: true })).json;
    expect(
      unmeasured.windows.map((each: Json) => [each.completion_window, each.can_be_met, each.eta]),
    ).toEqual([
      ['1m', null, null],
      ['24h', null, null],
      ['7d', null, null],
    ]);
    expect(unmeasured.quota).toMatchObject({ fits: true, reasons: [] });
    await measure();
    const late = (await create(60, '1m', { dry_run: true })).json;
    expect(late.windows.map((each: Json) => each.can_be_met)).toEqual([false, true, true]);
    const [short, usual, long] = late.windows.map((each: Json) => Number(each.cost.amount));
    expect([usual / short, long / short]).toEqual([expect.closeTo(5 / 8, 6), expect.closeTo(1 / 2, 6)]);
    expect(Date.parse(late.windows[0].eta)).toBeGreaterThan(Date.now() + minute);
    expect(late).toMatchObject({
      completion_window: '1m',
      cost: late.windows[0].cost,
      forecast: { at_risk: true, eta: late.windows[0].eta },
      quota: { fits: false, reasons: [{ code: 'window_too_short' }] },
    });
    const inTime = (await create(60, '24h', { dry_run: true })).json;
    expect(inTime).toMatchObject({
      completion_window: '24h',
      cost: late.windows[1].cost,
      forecast: { at_risk: false },
      quota: { fits: true, reasons: [] },
    });
  });

  it('that are short and cannot be met are refused, and nothing is stored', async () => {
    await measure();
    const [batches, files] = [await count('/v1/batches'), await count('/v1/files')];
    const { status, json } = await create(60, '1m');
    expect([status, json.error.code, json.error.param]).toEqual([
      422,
      'window_too_short',
      'completion_window',
    ]);
    expect(json.error.message).toMatch(
      /^completion_window: the batch would miss the window of 1m: it would be done at \d{4}-\d\d-\d\dT[\d:]+Z at the earliest\. Windows that can be met: 24h, 7d\.$/,
    );
    expect([await count('/v1/batches'), await count('/v1/files')]).toEqual([batches, files]);
    expect((await create(60, '24h')).status).toBe(201);
    expect((await create(2, '1m')).status).toBe(422);
  });

  it('count the batches that were created a moment ago', async () => {
    await measure();
    hangs = true;
    expect((await create(3, '1m')).status).toBe(201);
    expect((await create(3, '1m')).json.error?.code).toBe('window_too_short');
    // A higher priority goes before the open batches.
    expect((await create(3, '1m', { priority: 9 })).status).toBe(201);
  });

  it('return the batch of a repeated request, although it would be refused now', async () => {
    const key = { 'idempotency-key': 'one' };
    const { json: first } = await create(60, '1m', {}, key);
    await finished(first.id);
    expect((await create(60, '1m')).json.error?.code).toBe('window_too_short');
    const again = await create(60, '1m', {}, key);
    expect([again.status, again.json.id, again.headers.get('idempotent-replayed')]).toEqual([
      201,
      first.id,
      'true',
    ]);
  });

  it('of a retry are that of the batch, or another', async () => {
    const failing = { requests: requests(2, '[[fail 400 1]]') };
    const { json: first } = await create(2, '7d', failing);
    await finished(first.id);
    const retry = (json: object) => app.call('POST', `/v1/batches/${first.id}/retry`, { json });
    expect((await retry({})).json.completion_window).toBe('7d');
    expect((await retry({ completion_window: '24h' })).json.completion_window).toBe('24h');
    expect((await retry({ completion_window: '1m', dry_run: true })).json.completion_window).toBe('1m');
    const unknown = await retry({ completion_window: '2h' });
    expect([unknown.status, unknown.json.error.param]).toEqual([422, 'completion_window']);
  });
});
