import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { sumOpen } from '../core/open-sums.ts';
import type { OpenBatch } from '../store/contract/batches.ts';
import { createOrgMetrics, type OrgMetrics } from './org-metrics.ts';

let clock: ManualClock;
let registry: Registry;
let orgs: OrgMetrics;
let names: Record<string, string>;

const usage = {
  inputTokens: 100,
  cachedTokens: 40,
  cacheWriteTokens: 0,
  outputTokens: 10,
  reasoningTokens: 0,
};
const large = { ...usage, inputTokens: 10_000 };

beforeEach(() => {
  clock = createManualClock();
  registry = new Registry();
  names = { a: 'Alpha', b: 'Beta', c: 'Gamma' };
  orgs = createOrgMetrics(registry, {
    max: 2,
    clock,
    nameOf: (id) => (id in names ? Promise.resolve(names[id]) : Promise.reject(new Error('away'))),
  });
});

async function scrape(open: Parameters<OrgMetrics['read']>[0] = { open: [], models: [] }): Promise<string> {
  await orgs.read(open);
  return registry.metrics();
}

describe('metrics by org', () => {
  it('count requests and tokens under the ids of the first orgs, and the rest as other', async () => {
    orgs.charged('a', 'interactive', usage);
    orgs.charged('a', 'batch', usage);
    for (const org of ['b', 'c', 'c', 'd']) orgs.charged(org, 'batch', usage);
    const text = await scrape();
    expect(text).toContain('offpeak_org_requests_total{org="a",tier="interactive"} 1\n');
    expect(text).toContain('offpeak_org_requests_total{org="other",tier="batch"} 3\n');
    expect(text).toContain('offpeak_org_tokens_total{org="b",tier="batch",type="input"} 100\n');
    expect(text).toContain('offpeak_org_tokens_total{org="a",tier="batch",type="cached_input"} 40\n');
    expect(text).toContain('offpeak_org_tokens_total{org="other",tier="batch",type="output"} 30\n');
    expect(text).toContain('offpeak_org_info{org="b",name="Beta"} 1\n');
    expect(text).not.toContain('Gamma');
  });

  it('have no counter that falls when the shown orgs change', async () => {
    orgs.charged('a', 'batch', large);
    for (const org of ['b', 'c']) orgs.charged(org, 'batch', usage);
    orgs.charged('c', 'batch', large);
    const text = await scrape();
    expect(text).toContain('offpeak_org_tokens_total{org="other",tier="batch",type="input"} 10100\n');
    expect(text).not.toContain('org="b"');
    orgs.charged('c', 'batch', usage);
    orgs.charged('b', 'batch', usage);
    const later = await scrape();
    expect(later).toContain('offpeak_org_tokens_total{org="c",tier="batch",type="input"} 100\n');
    expect(later).toContain('offpeak_org_tokens_total{org="other",tier="batch",type="input"} 10200\n');
    expect(later).toContain('offpeak_org_info{org="c",name="Gamma"} 1\n');
    expect(later).not.toContain('Beta');
  });

  it('add up the open batches and the work left', async () => {
    orgs.charged('a', 'batch', usage);
    orgs.charged('b', 'batch', usage);
    const batches = ['a', 'a', 'c', 'd'].map((orgId) => ({ orgId }) as OpenBatch);
    const work = (...shares: [string, number][]) => ({
      model: 'm',
      requests: 0,
      tokens: 0,
      seconds: null,
      slackSeconds: null,
      neededTokensPerSecond: 0,
      orgs: shares.map(([orgId, tokens]) => ({ orgId, requests: 1, tokens })),
    });
    const open = { open: sumOpen(batches), models: [work(['a', 5], ['c', 7]), work(['a', 1], ['d', 2])] };
    const text = await scrape(open);
    expect(text).toContain('offpeak_org_open_batches{org="a"} 2\n');
    expect(text).toContain('offpeak_org_open_batches{org="other"} 2\n');
    expect(text).toContain('offpeak_org_work_left_tokens{org="a"} 6\n');
    expect(text).toContain('offpeak_org_work_left_tokens{org="other"} 9\n');
    expect(await scrape(null)).not.toContain('offpeak_org_open_batches{');
  });

  it('follow a new name within a minute, and keep the last one while the database is away', async () => {
    orgs.charged('a', 'batch', usage);
    await scrape();
    names = { a: 'Renamed' };
    expect(await scrape()).toContain('name="Alpha"');
    await clock.advance(60_000);
    names = {};
    expect(await scrape()).toContain('name="Alpha"');
    await clock.advance(60_000);
    names = { a: 'Renamed' };
    const text = await scrape();
    expect(text).toContain('name="Renamed"');
    expect(text).not.toContain('Alpha');
  });
});
