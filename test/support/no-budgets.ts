import type { Accounts } from '../../src/accounts/accounts.ts';

/** Where everybody may spend what he likes. */
export const noBudgets: Accounts['budgets'] = { require: () => {}, waiting: () => null };
