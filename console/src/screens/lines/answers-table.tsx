import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api } from '../../api/client.ts';
import { toFailure } from '../../api/failure.ts';
import { Button } from '../../parts/button.tsx';
import type { Column } from '../../parts/column.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorState } from '../../parts/error-state.tsx';
import { count } from '../../parts/format.ts';
import { Loading } from '../../parts/loading.tsx';
import { type AnswerRow, cellText, readAnswers, toCsv } from './answers.ts';
import { saveText } from './save-text.ts';
import css from './lines.module.css';

const idColumn: Column<AnswerRow> = {
  id: 'custom_id',
  header: 'custom_id',
  width: 200,
  cell: ({ customId }) => customId,
};
/** Prefix of column ids, so that a member named custom_id has a column of its own. */
const member = (name: string) => `.${name}`;

/** Answers of a batch as a table: a column for each member of their JSON objects. */
export function AnswersTable({ batchId }: { batchId: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['answers', batchId],
    async queryFn({ signal }) {
      const { data: stream, response } = await api.GET('/v1/batches/{batch_id}/output', {
        params: { path: { batch_id: batchId } },
        parseAs: 'stream',
        signal,
      });
      if (!response.ok || !stream) throw toFailure(response.status, undefined);
      return readAnswers(stream as ReadableStream<Uint8Array>);
    },
    staleTime: 30_000,
    gcTime: 60_000,
  });
  const columns = useMemo<Column<AnswerRow>[]>(
    () => [
      idColumn,
      ...(data?.columns ?? []).map((name) => ({
        id: member(name),
        header: name,
        cell: ({ values }: AnswerRow) => cellText(values[name]).slice(0, 400),
      })),
    ],
    [data],
  );
  if (error) return <ErrorState error={error} what="The answers" onRetry={() => void refetch()} />;
  if (!data) return <Loading what="the answers" rows={12} />;
  return (
    <div className={css.stack}>
      <p className={css.note}>
        <span>
          {count(data.rows.length)} answers{data.isPartial ? ', the first ones of the batch' : ''}
        </span>
        <Button onClick={() => saveText(`${batchId}.csv`, 'text/csv', toCsv(data))}>Save as CSV</Button>
      </p>
      <DataTable
        caption="Answers"
        columns={columns}
        rows={data.rows}
        rowId={({ customId }) => customId}
        height="calc(100dvh - 260px)"
        empty={<EmptyState title="No line has been answered yet." />}
      />
    </div>
  );
}
