import { useQuery } from '@tanstack/react-query';
import { Bar } from '../../parts/bar.tsx';
import { Code } from '../../parts/code.tsx';
import type { Column } from '../../parts/column.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { money, percent } from '../../parts/format.ts';
import { Money } from '../../parts/money.tsx';
import { Section } from '../../parts/screen.tsx';
import { State } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { type Forecast, forecastOf } from './forecast.ts';
import css from './usage.module.css';
import { type Budget, paceQuery } from './queries.ts';

interface BudgetRow extends Budget {
  id: string;
  forecast: Forecast | undefined;
}

const columns: readonly Column<BudgetRow>[] = [
  {
    id: 'state',
    header: 'State',
    width: 150,
    cell(row) {
      const { kind, word } = stateOf(row);
      return <State kind={kind}>{word}</State>;
    },
  },
  {
    id: 'owner',
    header: 'Owner',
    width: 220,
    cell: ({ id, ...budget }) => <span title={id}>{ownerOf(budget)}</span>,
  },
  { id: 'period', header: 'Period', width: 120, cell: ({ period, hard }) => periodOf(period, hard) },
  { id: 'spent', header: 'Spent', width: 240, cell: Spent },
  { id: 'forecast', header: 'End of the month', width: 130, align: 'end', cell: atEnd },
  {
    id: 'until',
    header: 'Runs out',
    width: 110,
    align: 'end',
    cell: ({ reached_at: reached, forecast }) => (
      <Time at={reached ?? (forecast?.usedUpAt ? new Date(forecast.usedUpAt).toISOString() : null)} />
    ),
  },
];

interface BudgetsProps {
  budgets: readonly Budget[];
  org: string | undefined;
  isAdmin: boolean;
  /** Epoch milliseconds. */
  now: number;
}

/** Budgets with what is spent, and the spending to expect at the pace of the last week. */
export function Budgets({ budgets, org, isAdmin, now }: BudgetsProps) {
  const { data: pace } = useQuery(paceQuery(now, org));
  const rows = budgets.map((budget): BudgetRow => {
    const id = budget.key_id ?? budget.org_id;
    return { ...budget, id, forecast: pace && forecastOf(budget, pace.get(id) ?? 0, now) };
  });
  return (
    <Section title="Budgets">
      {rows.length > 0 ? (
        <Table caption="Budgets" columns={columns} rows={rows} rowId={({ id }) => id} />
      ) : (
        <EmptyState title="No budget is set: spending is recorded, and not limited.">
          {isAdmin && <Code label="Set a budget" text="offpeak orgs update ID --budget 50/month" />}
        </EmptyState>
      )}
    </Section>
  );
}

function ownerOf({ org, org_id: orgId, key_id: keyId, key_name: name }: Omit<BudgetRow, 'id'>): string {
  const orgName = org ?? orgId;
  return keyId === null ? orgName : `${orgName} · ${name || keyId}`;
}

function periodOf(period: Budget['period'], isHard: boolean): string {
  return `${period === 'month' ? 'Month' : 'In total'}${isHard ? '' : ', soft'}`;
}

function stateOf({ amount, spent, hard, forecast }: BudgetRow) {
  if (Number(spent) >= Number(amount))
    return { kind: hard ? 'failed' : 'warning', word: hard ? 'Used up' : 'Exceeded' } as const;
  if (forecast && forecast.usedUpAt !== null) return { kind: 'warning', word: 'Will be used up' } as const;
  return { kind: 'done', word: 'Within budget' } as const;
}

function Spent({ amount, spent }: BudgetRow) {
  const [part, all] = [Number(spent), Number(amount)];
  const label = `${money(spent)} of ${money(amount)}, ${percent(part, all)}`;
  return (
    <span title={label} className={css.spent}>
      <Bar label={label} total={all} parts={[{ kind: part >= all ? 'failed' : 'running', value: part }]} />
      <span>{`${money(spent)} of ${money(amount)}`}</span>
    </span>
  );
}

function atEnd({ forecast }: BudgetRow) {
  return <Money amount={forecast?.atEnd} />;
}
