import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Config } from '../core/config.ts';
import { createRequestLimiter } from '../limits/create-limiter.ts';
import { createLimitReport } from '../limits/limit-report.ts';
import { createLocalSubjects, createSharedSubjects } from '../limits/subjects.ts';
import type { Store } from '../store/store.ts';

export interface LimitsDeps {
  store: Store;
  /** Clock of this machine, and time of the database. */
  clock: Clock;
  time: Clock;
  ids: Ids;
  log: Log;
  /** True if no other process uses the database. */
  exclusive: boolean;
  idOf: (model: string) => string;
}

/** Rates of requests and tokens, counted here or in the database for all processes, and the report of all limits. */
export function createLimits(
  { limits }: Config,
  { store, clock, time, ids, log, exclusive, idOf }: LimitsDeps,
) {
  const limiter = createRequestLimiter({
    clock,
    defaults: { org: limits.perOrg, key: limits.perKey },
    subjects: exclusive
      ? createLocalSubjects(clock)
      : createSharedSubjects({ clock: time, log, store: store.limits, process: ids.next('wrk_') }),
  });
  const { openBatchesPerOrg: openBatches, storedBytes, storedResponses } = limits;
  const limitReport = createLimitReport({
    store,
    limiter,
    defaults: { org: { openBatches, storedBytes, storedResponses, ...limits.perOrg }, key: limits.perKey },
    responseBytesPerOrg: limits.responseBytesPerOrg,
    idOf,
    clock: time,
  });
  return { limiter, limitReport };
}
