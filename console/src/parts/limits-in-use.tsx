import { useQuery } from '@tanstack/react-query';
import { type LimitOwner, type LimitUse, limitsQuery } from '../api/limits.ts';
import { Bar } from './bar.tsx';
import { bytes } from './bytes.ts';
import type { Column } from './column.ts';
import { compact, count, percent } from './format.ts';
import { limitLabels } from './limit-labels.ts';
import css from './limits-in-use.module.css';
import { freedBy, limitState } from './limit-state.ts';
import { QueryView } from './query-view.tsx';
import { State } from './state.tsx';
import { Table } from './table.tsx';
import { Time } from './time.tsx';

const used: Column<LimitUse> = { id: 'used', header: 'Used', width: 290, cell: Used };
const free: Column<LimitUse> = { id: 'free', header: 'Available again', width: 140, cell: FreeAgain };

/** The use comes second, so that it is in view on a telephone. */
const wide: readonly Column<LimitUse>[] = [
  { id: 'limit', header: 'Limit', width: 200, cell: labelOf },
  used,
  {
    id: 'state',
    header: 'State',
    width: 150,
    cell(limit) {
      const { kind, word } = limitState(limit);
      return <State kind={kind}>{word}</State>;
    },
  },
  { id: 'owner', header: 'Owner', width: 70, cell: ({ owner }) => (owner === 'org' ? 'Org' : 'Key') },
  free,
];

const narrow: readonly Column<LimitUse>[] = [
  {
    id: 'limit',
    header: 'Limit',
    width: 200,
    cell: (limit) => (
      <span title={labelOf(limit)}>{`${limit.owner === 'key' ? 'Key: ' : ''}${labelOf(limit)}`}</span>
    ),
  },
  { ...used, width: 200 },
  { ...free, width: 126 },
];

interface LimitsInUseProps {
  of: LimitOwner;
  /** True in a dialog. */
  isNarrow?: boolean;
}

/** Limits in force of an owner, each with a bar of how much is used. */
export function LimitsInUse({ of, isNarrow = false }: LimitsInUseProps) {
  const limits = useQuery(limitsQuery(of));
  return (
    <QueryView query={limits} what="The limits" rows={4}>
      {(rows) => (
        <Table
          caption="Limits in use"
          columns={isNarrow ? narrow : wide}
          rows={rows}
          rowId={({ owner, name, model }) => `${owner} ${name} ${model ?? ''}`}
        />
      )}
    </QueryView>
  );
}

function labelOf({ name, model }: LimitUse): string {
  return model === null ? limitLabels[name] : `Queued tokens, ${model}`;
}

function Used({ name, used: amount, limit }: LimitUse) {
  const isBytes = name === 'stored_bytes' || name === 'response_bytes';
  const text = (size: (value: number) => string) => `${size(amount)} of ${size(limit)}`;
  const label = `${text(isBytes ? bytes : count)}, ${percent(amount, limit)}`;
  return (
    <span className={css.used} title={label}>
      <Bar
        label={label}
        total={limit}
        parts={[{ kind: amount >= limit ? 'failed' : 'running', value: amount }]}
      />
      <span aria-hidden="true">{text(isBytes ? bytes : compact)}</span>
    </span>
  );
}

function FreeAgain({ name, used: amount, limit, available_at: more, resets_at: all }: LimitUse) {
  if (amount === 0 || limit === 0) return '–';
  const event = freedBy(name);
  if (event !== null) return event;
  return more === null ? (
    <Time at={all} />
  ) : (
    <span title="One more fits then; the rest follows">
      <Time at={more} />
    </span>
  );
}
