import type { RemoteBudget, RemoteOrg } from '../../client/resources.ts';
import { CliError, exitCodes } from '../shared/exit-codes.ts';

export const budgetOption = [
  '--budget <amount>',
  'what it may spend in USD: 50/month, 500 in all, or none',
] as const;

/** `50/month`, `500` or `none`, as the server takes it; undefined where nothing was said. */
export function readBudget(text: string | undefined): RemoteBudget | null | undefined {
  if (text === undefined || text === 'none') return text && null;
  const [, amount, period = 'total'] = /^(\d+(?:\.\d{1,9})?)(?:\/(month|total))?$/.exec(text) ?? [];
  if (amount === undefined)
    throw new CliError(
      `--budget must be an amount of USD such as 50/month or 500, or none, not '${text}'.`,
      undefined,
      exitCodes.usage,
    );
  return { amount, period };
}

/** `12.5 of 50/month` */
export function budgetText({ budget }: RemoteOrg): string {
  if (!budget) return '';
  return `${budget.spent} of ${budget.amount}${budget.period === 'month' ? '/month' : ''}`;
}
