import type { Service } from '../base/service.ts';
import type { Budget, SpentBudget } from '../core/budget.ts';
import type { ApiKey, Caller, NewKey, Org, KeyScope } from '../core/org.ts';
import type { Prices } from '../core/price.ts';
import type { Usage } from '../core/usage.ts';
import type { UsageQuery, UsageReport } from '../core/usage-report.ts';
import type { OrgChanges } from '../store/contract/accounts.ts';
import type { Budgets } from './budgets.ts';

/** Orgs, keys and money (api.md, sections 1 and 8). */
export interface Accounts extends Service {
  /**
   * Who a request comes from. The values are the raw header values, each occurrence by itself.
   * @throws ApiError `duplicate_authorization` (400), `invalid_api_key` (401; says so when only `x-api-key` was sent)
   */
  authenticate(headers: { authorization: string[]; xApiKey: string[] }): Promise<Caller>;
  /** @throws ApiError `permission_denied` (403) */
  require(caller: Caller, scope: KeyScope): void;
  /** Makes what keys a first start needs. Called when the server can be used: one that cannot has shown them to nobody. */
  makeFirstKeys(): Promise<void>;
  /** The keys made on the very first start, to be shown once; null later. */
  readonly firstKeys: { key: string | null; adminKey: string | null } | null;
  orgs: {
    create(input: { name: string; budget?: Budget | null }): Promise<BudgetedOrg>;
    list(): Promise<BudgetedOrg[]>;
    /** @throws ApiError `not_found` */
    update(id: string, changes: OrgChanges): Promise<BudgetedOrg>;
  };
  keys: {
    /** `key` is the only copy of the secret. */
    create(input: NewKey): Promise<{ apiKey: ApiKey; key: string }>;
    list(orgId?: string): Promise<ApiKey[]>;
    revoke(id: string): Promise<ApiKey>;
  };
  /**
   * What was used: all orgs' for an admin key, else what the caller's org did.
   * @throws ApiError `permission_denied` where another org is asked for, `validation_error` where it is not there
   */
  usage(caller: Caller, query: UsageQuery): Promise<UsageReport>;
  readonly budgets: Pick<Budgets, 'require' | 'waiting'>;
  /**
   * Enters a synchronous request in the ledger, in a group commit a moment later. One that cannot be entered stands in the
   * log, by its id.
   */
  charge(entry: { caller: Caller; requestId: string; model: string; usage: Usage; prices: Prices }): void;
}

export interface BudgetedOrg extends Org {
  /** Null for an org that may spend what it likes. */
  budget: SpentBudget | null;
}
