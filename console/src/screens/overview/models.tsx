import { useQuery } from '@tanstack/react-query';
import type { Column } from '../../parts/column.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { compact, count, duration, percent } from '../../parts/format.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../parts/screen.tsx';
import { State } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { Usage } from '../../parts/usage.tsx';
import { type ModelQueue, queueQuery } from '../../api/operations.ts';
import { usageQuery } from './queries.ts';
import { Slack } from './slack.tsx';

interface Row extends ModelQueue {
  /** Share of the input tokens of today that came from a cache, as text; null without input. */
  cached: string | null;
}

const columns: readonly Column<Row>[] = [
  { id: 'model', header: 'Model', width: 160, cell: ({ model }) => <span title={model}>{model}</span> },
  { id: 'state', header: 'State', width: 110, cell: ModelState },
  { id: 'requests', header: 'Requests left', width: 110, align: 'end', cell: (row) => count(row.requests) },
  { id: 'tokens', header: 'Tokens left', width: 100, align: 'end', cell: (row) => compact(row.tokens) },
  {
    id: 'rate',
    header: 'Tokens/s',
    width: 90,
    align: 'end',
    cell: (row) => perSecond(row.tokens_per_second),
  },
  { id: 'seconds', header: 'Time left', width: 90, align: 'end', cell: (row) => span(row.seconds) },
  {
    id: 'slack',
    header: 'Slack',
    width: 112,
    align: 'end',
    cell: ({ slack_seconds: slack }) => (slack === null ? '–' : <Slack seconds={slack} />),
  },
  {
    id: 'slots',
    header: 'Slots in use',
    width: 150,
    cell: (row) => <Usage used={row.in_use} of={row.found ?? row.slots} />,
  },
  { id: 'cached', header: 'Cached today', width: 110, align: 'end', cell: ({ cached }) => cached ?? '–' },
];

/** Work that batches have left by model, with the time to spare until the nearest deadline. */
export function Models() {
  const queue = useQuery(queueQuery);
  const { data: usage = [] } = useQuery(usageQuery);
  const cachedOf = (model: string) => {
    const row = usage.find((each) => each.model === model);
    return row && row.input_tokens > 0 ? percent(row.cached_tokens, row.input_tokens) : null;
  };
  return (
    <Section title="Models">
      <QueryView query={queue} what="The models">
        {(models) =>
          models.length === 0 ? (
            <EmptyState title="No models are configured." />
          ) : (
            <Table
              caption="Work left by model"
              columns={columns}
              rows={models.map((model) => ({ ...model, cached: cachedOf(model.model) }))}
              rowId={({ model }) => model}
            />
          )
        }
      </QueryView>
    </Section>
  );
}

function ModelState({ waiting, requests }: Row) {
  if (waiting)
    return (
      <span title={waiting.message}>
        <State kind="warning">Waiting</State>
      </span>
    );
  return requests > 0 ? <State kind="running">Working</State> : <State kind="done">Ready</State>;
}

function span(seconds: number | null): string {
  return seconds === null ? '–' : duration(seconds * 1_000);
}

function perSecond(rate: number | null): string {
  return rate === null ? '–' : compact(rate);
}
