import type { BatchHistory } from '../../api/batches.ts';
import type { Column } from '../../parts/column.ts';
import { count, duration, exactTime } from '../../parts/format.ts';
import { State } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { useNow } from '../../parts/time.tsx';
import css from './batch.module.css';
import { type TimelineEntry, timelineOf } from './timeline-entries.ts';

const columns: readonly Column<TimelineEntry>[] = [
  { id: 'state', header: 'State', width: 220, cell: ({ kind, word }) => <State kind={kind}>{word}</State> },
  { id: 'since', header: 'Since', width: 250, cell: ({ from }) => exactTime(from) },
  { id: 'length', header: 'For', width: 100, align: 'end', cell: (entry) => <Length entry={entry} /> },
  { id: 'reason', header: 'Reason', cell: ({ message }) => message ?? '' },
];

/** States and waits of a batch: as a strip to scale, and as a table. */
export function Timeline({ history, isOpen }: { history: BatchHistory; isOpen: boolean }) {
  const entries = timelineOf(history);
  return (
    <>
      <Strip entries={entries} isOpen={isOpen} />
      <Table
        caption="States and waits"
        columns={columns}
        rows={entries}
        rowId={({ word, from }) => `${from} ${word}`}
      />
      {history.omitted_waits > 0 && (
        <p className="quiet">{count(history.omitted_waits)} shorter waits are not shown.</p>
      )}
    </>
  );
}

/** Waits over the life of the batch. */
function Strip({ entries, isOpen }: { entries: readonly TimelineEntry[]; isOpen: boolean }) {
  const now = useNow();
  const begin = entries[0]?.from ?? now;
  const end = isOpen ? now : (entries.at(-1)?.from ?? now);
  const span = Math.max(1, end - begin);
  const waits = entries.filter(
    ({ kind, message }) => message !== null && (kind === 'waiting' || kind === 'stopped'),
  );
  return (
    <div className={css.strip} aria-hidden="true">
      {waits.map(({ from, to, word, kind }) => (
        <span
          key={from}
          title={`${word}, ${duration((to ?? end) - from)}`}
          data-kind={kind}
          style={{
            left: `${(100 * Math.max(0, from - begin)) / span}%`,
            width: `${(100 * Math.max(0, (to ?? end) - from)) / span}%`,
          }}
        />
      ))}
    </div>
  );
}

function Length({ entry: { from, to, kind } }: { entry: TimelineEntry }) {
  const now = useNow();
  if (to !== null) return duration(to - from);
  return kind === 'running' || kind === 'waiting' ? duration(Math.max(0, now - from)) : '–';
}
