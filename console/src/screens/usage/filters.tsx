import { useQuery } from '@tanstack/react-query';
import { type Choice, ChoiceField, DayField, Toolbar } from '../../parts/toolbar.tsx';
import type { Days } from './days.ts';
import { orgsQuery } from '../../api/orgs.ts';
import type { Group, Measure, Range } from './search.ts';

const rangeLabels: Readonly<Record<Shown['range'], string>> = {
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  month: 'This month',
  'last-month': 'Last month',
  days: 'Chosen days',
};

export const groupLabels: Readonly<Record<Group, string>> = {
  model: 'Model',
  org: 'Org',
  key: 'Key',
  endpoint: 'Endpoint',
  batch: 'Batch',
  tier: 'Service tier',
  tag: 'Tag',
};

export const measureLabels: Readonly<Record<Measure, string>> = {
  amount: 'Spend',
  requests: 'Requests',
  tokens: 'Tokens',
};

export interface Shown {
  range: Range | 'days';
  by: Group;
  show: Measure;
  org: string | undefined;
}

interface FiltersProps {
  shown: Shown;
  days: Days;
  /** True for a key that sees all orgs. */
  isAdmin: boolean;
  onChange: (change: Record<string, string>) => void;
}

export function Filters({ shown: { range, by, show, org }, days, isAdmin, onChange }: FiltersProps) {
  const { data: orgs = [] } = useQuery({ ...orgsQuery, enabled: isAdmin });
  const groups = choicesOf(groupLabels).filter(({ value }) => isAdmin || value !== 'org');
  return (
    <Toolbar label="Choose usage">
      <ChoiceField
        label="Days (UTC)"
        value={range}
        choices={choicesOf(rangeLabels)}
        onChange={(value) =>
          onChange(value === 'days' ? { from: days.start, to: days.end } : { range: value, from: '', to: '' })
        }
      />
      {range === 'days' && (
        <>
          <DayField label="First day" value={days.start} onChange={(from) => onChange({ from })} />
          <DayField label="Last day" value={days.end} onChange={(to) => onChange({ to })} />
        </>
      )}
      <ChoiceField label="By" value={by} choices={groups} onChange={(value) => onChange({ by: value })} />
      <ChoiceField
        label="Chart"
        value={show}
        choices={choicesOf(measureLabels)}
        onChange={(value) => onChange({ show: value })}
      />
      {isAdmin && (
        <ChoiceField
          label="Org"
          value={org ?? ''}
          choices={[
            { value: '', label: 'All orgs' },
            ...orgs.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          onChange={(value) => onChange({ org: value })}
        />
      )}
    </Toolbar>
  );
}

function choicesOf(labels: Readonly<Record<string, string>>): Choice[] {
  return Object.entries(labels).map(([value, label]) => ({ value, label }));
}
