import type { Clock } from '../base/clock.ts';
import type { Service } from '../base/service.ts';
import type { Actor } from '../core/audit.ts';
import type { SpentBudget } from '../core/budget.ts';
import type { ApiKey, Caller, KeyChanges, KeyScope, NewKey, NewOrg, Org, OrgChanges } from '../core/org.ts';
import type { Prices } from '../core/price.ts';
import type { Usage } from '../core/usage.ts';
import type { UsageQuery, UsageReport } from '../core/usage-report.ts';
import type { KeysetPage } from '../store/contract/accounts.ts';
import type { Audit } from './audit.ts';
import type { Budgets } from './budgets.ts';
import type { Reservation } from './reservations.ts';

/** Orgs, keys and money. */
/** Values of the headers of a request that may have its key. */
export interface KeyHeaders {
  authorization: string[];
  /** Values of `x-api-key` where it is rejected, for the message. */
  xApiKey: string[];
  /** Header that is accepted instead of `Authorization`. */
  instead?: { name: string; values: string[] };
}

export interface Accounts extends Service {
  /**
   * Returns the caller that a request belongs to. Each occurrence of a header is one raw value.
   * @throws ApiError `duplicate_authorization` (400), `invalid_api_key` (401; says so when only `x-api-key` was sent),
   *   `org_disabled` (403)
   */
  authenticate(headers: KeyHeaders): Promise<Caller>;
  /** Sessions of the console. */
  readonly sessions: Sessions;
  /** @throws ApiError `permission_denied` (403) */
  require(caller: Caller, scope: KeyScope): void;
  /** Creates the keys that a first start lacks. Called once the server listens, so that a failed start has not lost them. */
  makeFirstKeys(): Promise<void>;
  /** Keys created by the first start, to be shown once; null later. */
  readonly firstKeys: { key: string | null; adminKey: string | null } | null;
  orgs: {
    create(actor: Actor, input: NewOrg): Promise<BudgetedOrg>;
    /** @throws ApiError `not_found`, `validation_error` for a name that several orgs have */
    get(idOrName: string): Promise<BudgetedOrg>;
    /** Oldest first: all, or a page. */
    list(page?: KeysetPage): Promise<BudgetedOrg[]>;
    /**
     * Org given by its id or its name.
     * @param param of the request, for the error; `org` by default
     * @throws ApiError `validation_error` for an unknown org and for an ambiguous name
     */
    find(idOrName: string, param?: string): Promise<Org>;
    /** Names of all orgs by id. */
    names(): Promise<ReadonlyMap<string, string>>;
    /** @throws ApiError `not_found`, `validation_error` for a name that several orgs have */
    update(actor: Actor, idOrName: string, changes: OrgChanges): Promise<BudgetedOrg>;
  };
  keys: {
    /**
     * Returns the only copy of the secret as `key`. `orgId` may be the name of the org.
     * @throws ApiError `permission_denied` if the new key could do more than the key of the actor
     */
    create(actor: Actor, input: NewKey): Promise<{ apiKey: KeyOfOrg; key: string }>;
    /** @throws ApiError `not_found` */
    get(id: string): Promise<KeyOfOrg>;
    /** Oldest first: all, or a page. @param org id or name */
    list(org?: string, page?: KeysetPage): Promise<KeyOfOrg[]>;
    /**
     * A budget is that of all keys of the family.
     * @throws ApiError `not_found`; `key_not_active` for a revoked key, of which only the budget can change; `own_admin_scope`;
     *   `permission_denied` as `create`
     */
    update(actor: Actor, id: string, changes: KeyChanges): Promise<KeyOfOrg>;
    /**
     * Creates a key with the same settings, in the same family. The old one, `replaced`, works for another `overlapMs`.
     * @throws ApiError `not_found`, `key_not_active`, `key_replaced`; `permission_denied` as `create`
     */
    rotate(
      actor: Actor,
      id: string,
      overlapMs: number,
    ): Promise<{ apiKey: KeyOfOrg; key: string; replaced: KeyOfOrg }>;
    revoke(actor: Actor, id: string): Promise<KeyOfOrg>;
  };
  readonly audit: Audit;
  /**
   * Usage of all orgs for an admin key, otherwise of the caller's org; with the first page, the budgets of these orgs and their keys.
   * @throws ApiError `permission_denied` for another org, `validation_error` for one that does not exist
   */
  usage(caller: Caller, query: UsageQuery, signal: AbortSignal): Promise<NamedUsage>;
  /** Time of bills, which decides the prices and the month of budgets. */
  readonly billingClock: Pick<Clock, 'now'>;
  /** `waiting` also says that an org is disabled. */
  readonly budgets: Omit<Budgets, 'refresh' | 'start' | 'stop'>;
  /** Adds a synchronous request to the ledger, in a group commit a moment later. The log has charges that could not be added. */
  charge(charge: {
    caller: Pick<Caller, 'orgId' | 'keyId' | 'keyFamily'>;
    model: string;
    endpoint: string;
    tag: string;
    usage: Usage;
    prices: Prices;
    /** Part of the caller's budgets that the request holds. */
    reservation: Reservation;
  }): void;
}

/** Usage with its budgets, and the names of orgs and keys. */
export interface NamedUsage extends UsageReport {
  budgets: SpentBudget[];
  /** Org that the report is about; null for all orgs. */
  orgId: string | null;
  /** Names of the orgs and keys of the report, by id. */
  names: ReadonlyMap<string, string>;
}

export interface KeyOfOrg extends ApiKey {
  /** Name of its org. */
  orgName: string | null;
  /** Spending of its budget; null without a budget, and for a revoked key. */
  spentBudget: SpentBudget | null;
}

export interface BudgetedOrg extends Org {
  /** Null for an org without a limit. */
  budget: SpentBudget | null;
}

/** Session as its browser sees it. */
export interface Session {
  caller: Caller;
  expiresAt: number;
}

/** Sessions of the console: a key is exchanged for a token, which the browser keeps in a cookie. */
export interface Sessions {
  /**
   * @param host `Host` of the request, which binds the session
   * @throws ApiError `invalid_api_key`, `org_disabled`
   */
  begin(key: string, host: string): Promise<Session & { token: string }>;
  /** @throws ApiError `session_ended` when the session or its key is no longer valid; `org_disabled` */
  find(token: string | undefined, host: string): Promise<Session>;
  /** Ends a session here at once, on other processes within a second. */
  end(token: string): Promise<void>;
}
