import type { Accounts } from '../../src/accounts/accounts.ts';

/** Budgets without limits. */
export const noBudgets: Accounts['budgets'] = { require: () => {}, waiting: () => null };
