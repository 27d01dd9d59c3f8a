import type { Clock } from '../base/clock.ts';
import { coalesceReads } from '../base/coalesce-reads.ts';
import type { Gate } from '../base/fair-gate.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { isDatabaseUnavailable } from '../core/database-fault.ts';
import { type Duties, soleDuties } from '../core/duties.ts';
import { hasScope } from '../core/org.ts';
import type { LedgerStore } from '../store/contract/accounts.ts';
import type { Store } from '../store/store.ts';
import type { Accounts } from './accounts.ts';
import { createAudit } from './audit.ts';
import { createKeyCheck, requireScope } from './authenticate.ts';
import {
  checkEnvironmentKeys,
  ensureEnvironmentKeys,
  type EnvironmentKeys,
  makeFirstKeys,
} from './bootstrap.ts';
import { BillingClock } from './billing-clock.ts';
import { createBudgets } from './budgets.ts';
import { createDisabledOrgs } from './disabled-orgs.ts';
import { createKeyCache } from './key-cache.ts';
import { hashKey } from './keys.ts';
import { createLastUsed } from './last-used.ts';
import { createLedger } from './ledger.ts';
import { createIssuer } from './issuer.ts';
import { findOrg } from './orgs.ts';
import { createReportGate } from './report-gate.ts';
import { createRollUp } from './roll-up.ts';
import { createSessions } from './sessions.ts';
import { namesIn, readUsage } from './usage.ts';

export interface AccountsDeps {
  store: Pick<Store, 'orgs' | 'keys' | 'sessions' | 'audit' | 'ledger' | 'ping'>;
  clock: Clock;
  random: Random;
  ids: Ids;
  log: Log;
  /** Shares the reads of many rows among orgs. */
  scans: Gate;
  /** All are this process's if absent. */
  duties?: Duties;
  config: EnvironmentKeys;
}

/**
 * Creates the accounts service. It starts after the store and stops before it, because it writes its last charges then.
 * @throws Error for an invalid key in the environment
 */
export function createAccounts(deps: AccountsDeps): Accounts {
  const { store, clock, log, scans, duties = soleDuties(), config } = deps;
  checkEnvironmentKeys(config);
  const given = [config.apiKey, config.adminKey].filter((key) => key !== undefined);
  // In groups, so that many guesses cost few queries.
  const findKey = coalesceReads((hashes: string[]) => store.keys.findByHashes(hashes), {
    maxGroup: 500,
    maxConcurrent: 4,
  });
  const cache = createKeyCache(clock, findKey);
  const lastUsed = createLastUsed({ keys: store.keys, clock, log });
  const isDatabaseDown = (error: unknown) => isDatabaseUnavailable(error, () => store.ping());
  const writer = deps.ids.next('wrk_');
  const billingClock = new BillingClock(clock, log);
  const ledger = createLedger({ ledger: store.ledger, writer, clock: billingClock, log, isDatabaseDown });
  const reports = createReportGate();
  const rollUp = createRollUp({ ledger: store.ledger, reports, clock: billingClock, duties, log });
  const budgets = createBudgets({ orgs: store.orgs, clock, billingClock, log });
  const disabledOrgs = createDisabledOrgs({ orgs: store.orgs, clock, log });
  const used = (keyId: string) => lastUsed.note(keyId);
  const environmentHashes = new Set(given.map(hashKey));
  const keyCheck = createKeyCheck({ clock, cache, environmentHashes, used });
  let firstKeys: Accounts['firstKeys'] = null;

  return {
    ...createIssuer({ ...deps, budgets, disabledOrgs }, () => cache.clear()),
    billingClock,
    budgets: {
      ...budgets,
      waiting: (orgId, family) => disabledOrgs.waiting(orgId) ?? budgets.waiting(orgId, family),
    },
    audit: createAudit(deps),
    authenticate: keyCheck.byHeaders,
    sessions: createSessions({ store: store.sessions, clock, random: deps.random, keys: keyCheck }),
    require: requireScope,
    async usage(caller, query, signal) {
      const isAdmin = hasScope(caller.scopes, 'admin:read');
      let orgId = query.orgId ?? (isAdmin ? undefined : caller.orgId);
      if (orgId !== undefined && orgId !== caller.orgId) {
        requireScope(caller, 'admin:read');
        orgId = (await findOrg(store.orgs, orgId, 'org_id')).id;
      }
      const shared: Pick<LedgerStore, 'usage'> = {
        usage: (...part) => scans.within(caller.orgId, 1, signal, () => store.ledger.usage(...part)),
      };
      const report = await reports.report(() => readUsage(shared, { ...query, orgId }, caller.orgId));
      const all = query.after === undefined ? await budgets.refresh() : [];
      const ofReport = all.filter((each) => orgId === undefined || each.orgId === orgId);
      const names = await namesIn(store, query, report.rows, ofReport, caller.orgId, orgId);
      return { ...report, budgets: ofReport, orgId: orgId ?? null, names };
    },
    charge: (charge) => ledger.charge(charge),
    get firstKeys() {
      return firstKeys;
    },
    async start() {
      await ensureEnvironmentKeys(deps, config);
      billingClock.start(await store.ledger.newest());
      await budgets.start();
      await rollUp.start();
      await disabledOrgs.start();
    },
    async makeFirstKeys() {
      firstKeys = await makeFirstKeys(deps, config);
    },
    async stop() {
      await disabledOrgs.stop();
      await rollUp.stop();
      await budgets.stop();
      await ledger.stop();
      await lastUsed.stop();
    },
  };
}
