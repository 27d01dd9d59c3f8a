import type { Accounts } from '../../src/accounts/accounts.ts';
import { noReservation } from '../../src/accounts/reservations.ts';

/** Budgets without limits. */
export const noBudgets: Accounts['budgets'] = {
  require: () => {},
  reserve: () => noReservation,
  hasRoom: () => true,
  exhausted: () => [],
  waiting: () => null,
  onRoom: () => {},
};
