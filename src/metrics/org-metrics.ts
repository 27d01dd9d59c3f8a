import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import { sum } from '../base/sum.ts';
import type { Usage } from '../core/usage.ts';
import type { OpenSum } from '../core/open-sums.ts';
import type { ModelWork } from '../core/work-left.ts';
import { TopOrgs } from './top-orgs.ts';

/** Age up to which the name of an org is used again. */
const nameMs = 60_000;

export type Tier = 'interactive' | 'batch';

export interface OrgMetricsDeps {
  /** Maximum number of orgs with a label of their own. */
  max: number;
  /** Name of an org; undefined for an unknown one. */
  nameOf: (orgId: string) => Promise<string | undefined>;
  clock: Pick<Clock, 'monotonic'>;
}

export type OrgMetrics = ReturnType<typeof createOrgMetrics>;

/**
 * Metrics with the label `org`. The largest orgs have their ids there, and the others share `other`. Counters only grow: what an org
 * used before it got a label of its own stays in `other`.
 */
export function createOrgMetrics(registry: Registry, { max, nameOf, clock }: OrgMetricsDeps) {
  const options = <Label extends string>(name: string, help: string, labelNames: Label[]) => ({
    name: `offpeak_org_${name}`,
    help,
    labelNames,
    registers: [registry],
  });
  const top = new TopOrgs(max, clock);
  const requests = new Counter(
    options('requests_total', 'Charged interactive requests, and batch lines with a result', ['org', 'tier']),
  );
  const tokens = new Counter(options('tokens_total', 'Billed tokens', ['org', 'tier', 'type']));
  const info = new Gauge(options('info', 'Name of the org', ['org', 'name']));
  const batches = new Gauge(options('open_batches', 'Open batches of all processes', ['org']));
  const left = new Gauge(
    options('work_left_tokens', 'Estimated input and output tokens of batch lines that can run', ['org']),
  );
  const names = new Map<string, { name: string; at: number }>();

  /** Removes the counters of an org. */
  function drop(org: string): void {
    names.delete(org);
    for (const tier of ['interactive', 'batch']) {
      requests.remove({ org, tier });
      for (const type of ['input', 'cached_input', 'output']) tokens.remove({ org, tier, type });
    }
  }

  async function readNames(): Promise<void> {
    const now = clock.monotonic();
    for (const orgId of top.shown) {
      const known = names.get(orgId);
      if (known && now - known.at < nameMs) continue;
      const name = await nameOf(orgId).catch(() => known?.name);
      if (name !== undefined) names.set(orgId, { name, at: now });
    }
    info.reset();
    for (const [org, { name }] of names) info.set({ org, name }, 1);
  }

  /** Adds up values by label. */
  function set(gauge: Gauge<'org'>, values: readonly { orgId: string; value: number }[]): void {
    gauge.reset();
    for (const [org, all] of Map.groupBy(values, ({ orgId }) => top.labelOf(orgId)))
      gauge.set({ org }, sum(all.map(({ value }) => value)));
  }

  return {
    /** Counts requests or lines of an org with their usage. */
    charged(orgId: string, tier: Tier, { inputTokens, cachedTokens, outputTokens }: Usage): void {
      const org = top.count(orgId, inputTokens + outputTokens);
      requests.inc({ org, tier });
      tokens.inc({ org, tier, type: 'input' }, inputTokens);
      tokens.inc({ org, tier, type: 'cached_input' }, cachedTokens);
      tokens.inc({ org, tier, type: 'output' }, outputTokens);
    },

    /** Updates labels and gauges, at each scrape; without `work` while the database is silent. */
    async read(work: { open: readonly OpenSum[]; models: readonly ModelWork[] } | null): Promise<void> {
      for (const org of top.review()) drop(org);
      set(batches, work?.open.map(({ orgId, batches: value }) => ({ orgId, value })) ?? []);
      const shares = work?.models.flatMap(({ orgs }) => orgs) ?? [];
      set(
        left,
        shares.map(({ orgId, tokens: value }) => ({ orgId, value })),
      );
      await readNames();
    },
  };
}
