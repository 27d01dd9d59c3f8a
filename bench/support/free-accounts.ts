import type { Accounts } from '../../src/accounts/accounts.ts';
import { type AccountsDeps, createAccounts as create } from '../../src/accounts/create-accounts.ts';
import { noReservation } from '../../src/accounts/reservations.ts';
import type { Caller } from '../../src/core/org.ts';

/** Accounts whose calls for a request do nothing: every request has the caller of the first one, and none is metered or billed. */
export function createAccounts(deps: AccountsDeps): Accounts {
  const accounts = create(deps);
  let caller: Promise<Caller> | undefined;
  const free: Partial<Accounts> = {
    authenticate: (headers) => (caller ??= accounts.authenticate(headers)),
    require: () => {},
    charge: () => {},
    budgets: { ...accounts.budgets, require: () => {}, reserve: () => noReservation },
  };
  return Object.create(accounts, Object.getOwnPropertyDescriptors(free)) as Accounts;
}
