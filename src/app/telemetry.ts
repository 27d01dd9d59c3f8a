import { packageVersion } from '../base/program.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Config } from '../core/config.ts';
import type { InferenceDeps } from '../inference/create-inference.ts';
import type { Counters } from '../metrics/counters.ts';
import type { MetricsDeps } from '../metrics/create-metrics.ts';
import type { Store } from '../store/store.ts';
import type { Serving } from './serving.ts';

export interface TelemetryDeps {
  store: Store;
  serving: Serving;
  /** Clock of this machine, and time of the database. */
  clock: Clock;
  time: Clock;
  random: Random;
  log: Log;
}

/** Counters and traces of this process, each loaded and made only if it is configured. */
export async function createTelemetry(
  { metrics, tracing }: Config,
  { store, serving, clock, time, random, log }: TelemetryDeps,
) {
  const nameOf = async (orgId: string) => (await store.orgs.get(orgId))?.name;
  const counts =
    metrics &&
    (await import('../metrics/counters.ts')).createCounters(
      metrics.orgs > 0 ? { max: metrics.orgs, nameOf, clock } : undefined,
    );
  const tracer =
    tracing &&
    (await import('../tracing/create-tracer.ts')).createTracer({
      ...tracing,
      clock: time,
      random,
      log,
      version: packageVersion(),
      models: () => serving.models.map((model) => model.config),
    });

  return {
    counts,
    tracer,

    /** The accounts, with the usage of single requests counted. */
    charging: (accounts: Accounts): InferenceDeps['accounts'] =>
      counts ? charging(accounts, counts) : accounts,

    /** Server of the metrics; undefined if they are not configured. */
    async createMetrics(
      deps: Pick<MetricsDeps, 'catalog' | 'capacity' | 'openWork' | 'waitingDeliveries' | 'orgWaits'>,
    ) {
      if (!metrics || !counts) return undefined;
      const { createMetrics } = await import('../metrics/create-metrics.ts');
      return createMetrics({ ...metrics, ...deps, version: packageVersion(), counts, time, clock, log });
    },
  };
}

function charging(accounts: Accounts, { recordUsage }: Counters): InferenceDeps['accounts'] {
  return {
    budgets: accounts.budgets,
    billingClock: accounts.billingClock,
    charge(entry) {
      accounts.charge(entry);
      recordUsage(entry.caller.orgId, entry.model, entry.usage);
    },
  };
}
