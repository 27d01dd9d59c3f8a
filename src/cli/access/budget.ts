import { Option } from 'commander';
import type { RemoteBudget } from '../../client/resources.ts';
import { CliError } from '../shared/exit-codes.ts';

/** Option that `readBudget` parses. */
export const budgetOption = new Option(
  '--budget <amount>',
  'budget in USD: 50/month, 500 in total, 50/month,soft to report only, or none',
);

/** Parses `50/month`, `500`, `50/month,soft` or `none` (null). */
export function readBudget(text: string | undefined): RemoteBudget | null | undefined {
  if (text === undefined) return undefined;
  if (text === 'none') return null;
  const [, amount, period = 'total', soft] =
    /^(\d+(?:\.\d{1,9})?)(?:\/(month|total))?(,soft)?$/.exec(text) ?? [];
  if (amount === undefined)
    throw new CliError(
      `--budget must be an amount in USD such as 50/month, 500 or 50/month,soft, or none, not '${text}'.`,
    );
  return { amount, period: period as RemoteBudget['period'], hard: soft === undefined };
}

/** Budget as `12.5 of 50/month`, `50/month` where the spending is unknown; '' for none. */
export function budgetText(budget: (RemoteBudget & { spent?: string | null }) | null | undefined): string {
  if (!budget) return '';
  const { amount, period, hard, spent } = budget;
  return `${spent === undefined || spent === null ? '' : `${spent} of `}${amount}${period === 'month' ? '/month' : ''}${hard ? '' : ' (soft)'}`;
}
