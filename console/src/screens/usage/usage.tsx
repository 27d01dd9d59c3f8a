import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { hasScope, useSession } from '../../api/session.ts';
import { compact, money } from '../../parts/format.ts';
import { LimitsInUse } from '../../parts/limits-in-use.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Pair, Screen, Section } from '../../parts/screen.tsx';
import { maxSeries, StackedBars } from '../../parts/stacked-bars.tsx';
import { useNow } from '../../parts/time.tsx';
import { Budgets } from './budgets.tsx';
import { type Days, daysOf, eachDay } from './days.ts';
import { Download } from './download.tsx';
import { Filters, groupLabels, measureLabels, type Shown } from './filters.tsx';
import { GroupTable } from './group-table.tsx';
import { usageQuery } from './queries.ts';
import { type UsageSearch, usageSearch } from './search.ts';
import { Totals } from './totals.tsx';
import { sumGroups, toSeries, type UsageRow } from './sums.ts';
import css from './usage.module.css';

/** Spending and usage by day, with the budgets: of all orgs for an admin, otherwise of the own org. */
export function Usage() {
  const session = useSession();
  const isAdmin = hasScope(session, 'admin:read');
  const search: UsageSearch = useSearch({ from: '/usage' });
  const { range = '30d', by = 'model', show = 'amount', org, from, to } = search;
  const navigate = useNavigate({ from: '/usage' });
  const now = useNow();
  const isChosen = from !== undefined && to !== undefined;
  const days = isChosen ? { start: from, end: to } : daysOf(range, now);
  const report = { ...days, by, org: isAdmin ? org : undefined };
  const query = useQuery(usageQuery(report));
  const shown: Shown = { range: isChosen ? 'days' : range, by, show, org };
  const change = (changes: Record<string, string>) =>
    void navigate({ search: (before) => usageSearch({ ...before, ...changes }), replace: true });

  return (
    <Screen title="Usage" actions={<Download report={report} />}>
      <div className={css.report}>
        <Filters shown={shown} days={days} isAdmin={isAdmin} onChange={change} />
        <QueryView query={query} what="The usage" rows={10}>
          {({ data }) => (
            <Report
              rows={data}
              days={days}
              shown={shown}
              onChooseDays={(first, last) => change({ from: first, to: last })}
              onOpenOrg={(id) => change({ org: id, by: 'model' })}
            />
          )}
        </QueryView>
      </div>
      <Pair>
        <Section title={report.org === undefined ? 'Limits of your key and org' : 'Limits of the org'}>
          <LimitsInUse of={report.org === undefined ? { kind: 'self' } : { kind: 'org', id: report.org }} />
        </Section>
        {query.data && <Budgets budgets={query.data.budgets} org={report.org} isAdmin={isAdmin} now={now} />}
      </Pair>
    </Screen>
  );
}

interface ReportProps {
  rows: readonly UsageRow[];
  days: Days;
  shown: Shown;
  onOpenOrg: (id: string) => void;
  onChooseDays: (first: string, last: string) => void;
}

function Report({ rows, days: { start, end }, shown: { by, show }, onOpenOrg, onChooseDays }: ReportProps) {
  const days = useMemo(() => eachDay({ start, end }), [start, end]);
  const sums = useMemo(() => sumGroups(rows, by), [rows, by]);
  const series = useMemo(() => toSeries(rows, { by, show, days, limit: maxSeries }), [rows, by, show, days]);
  return (
    <>
      <Totals sums={sums} days={days.length} />
      {rows.length > 0 && (
        <StackedBars
          label={`${measureLabels[show]} by day and ${groupLabels[by].toLowerCase()}`}
          days={days}
          series={series}
          format={show === 'amount' ? money : compact}
          onChoose={onChooseDays}
        />
      )}
      <GroupTable by={by} sums={sums} onOpen={by === 'org' ? onOpenOrg : undefined} />
    </>
  );
}
