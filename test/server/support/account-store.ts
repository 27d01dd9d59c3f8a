import { inspect } from 'node:util';
import { emptyAuditLog } from '../../../src/core/audit.ts';
import { type ApiKey, type Org, orgDefaults } from '../../../src/core/org.ts';
import type { Store } from '../../../src/store/store.ts';
import type { ConsoleSession } from '../../../src/store/contract/sessions.ts';
import type { LedgerEntry } from '../../../src/store/contract/accounts.ts';

export interface AccountStore extends Pick<
  Store,
  'orgs' | 'keys' | 'sessions' | 'audit' | 'ledger' | 'ping'
> {
  /** Hashes looked up so far. */
  readonly lookups: string[];
  readonly touched: { id: string; at: number }[][];
  readonly written: LedgerEntry[][];
  /** Makes the next `n` writes to the ledger fail. */
  failLedger(n: number): void;
  /** Every value that was passed in, as text: for finding leaked secrets. */
  readonly dump: () => string;
}

/** In-memory tables of accounts that record their calls. */
export function createAccountStore(): AccountStore {
  const orgs: Org[] = [];
  const keys: { key: ApiKey; hash: string }[] = [];
  const sessions = new Map<string, ConsoleSession>();
  const lookups: string[] = [];
  const touched: { id: string; at: number }[][] = [];
  const written: LedgerEntry[][] = [];
  let failures = 0;
  return {
    lookups,
    touched,
    written,
    failLedger: (n) => void (failures = n),
    ping: () => Promise.resolve(0),
    dump: () =>
      inspect({ orgs, keys, sessions, lookups, touched, written }, { depth: null, maxArrayLength: null }),
    orgs: {
      insert: async (org) => void orgs.push(org),
      get: async (id) => orgs.find((org) => org.id === id),
      list: async () => [...orgs],
      names: async (ids) =>
        new Map(orgs.filter(({ id }) => ids.includes(id)).map(({ id, name }) => [id, name])),
      async update(id, { disabled }, now) {
        const org = orgs.find((each) => each.id === id);
        return org && Object.assign(org, disabled !== undefined && { disabledAt: disabled ? now : null });
      },
      disabled: async () => [],
      budgets: async () => [],
      noteUsedUp: async () => {},
    },
    keys: {
      async insert(key, hash) {
        if (keys.some((row) => row.hash === hash)) return false;
        keys.push({ key: { ...key }, hash });
        return true;
      },
      async findByHashes(hashes) {
        lookups.push(...hashes);
        const found = keys.filter(({ hash }) => hashes.includes(hash));
        return new Map(
          found.map(({ key, hash }) => {
            const org = orgs.find(({ id }) => id === key.orgId);
            return [hash, { ...key, org: org ?? orgDefaults }];
          }),
        );
      },
      get: async (id) => keys.find(({ key }) => key.id === id)?.key,
      async update(id, { disabled, limits, ...changes }, now) {
        if (limits) throw new Error('limits are not merged here');
        const key = keys.find((row) => row.key.id === id)?.key;
        const state = disabled !== undefined && { disabledAt: disabled ? now : null };
        return key && Object.assign(key, changes, state);
      },
      rotate: () => Promise.reject(new Error('no key is rotated here')),
      names: async () => new Map(),
      list: async (orgId) =>
        keys.map((row) => row.key).filter((key) => orgId === undefined || key.orgId === orgId),
      async revoke(id, at) {
        const row = keys.find(({ key }) => key.id === id);
        if (!row) return undefined;
        row.key.revokedAt ??= at;
        return { ...row.key };
      },
      touch: async (uses) => void touched.push(uses),
    },
    sessions: {
      insert: async (session) => void sessions.set(session.hash, session),
      async findByHashes(hashes) {
        lookups.push(...hashes);
        return new Map(hashes.flatMap((hash) => [...sessions].filter(([known]) => known === hash)));
      },
      remove: async (hash) => void sessions.delete(hash),
    },
    audit: {
      append: () => Promise.reject(new Error('no change is added here')),
      list: async () => ({ entries: [], hasMore: false, head: emptyAuditLog }),
    },
    ledger: {
      async add(rows) {
        if (failures-- > 0) throw new Error('the database is away');
        written.push(rows);
      },
      forSources: async () => [],
      newest: async () => null,
      addToSums: async () => 0,
      rollUp: async () => 0,
      forgetWriters: async () => {},
      usage: () => Promise.reject(new Error('nothing is added up here')),
    },
  };
}
