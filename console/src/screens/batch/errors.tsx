import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type Batch, retryBatch } from '../../api/batches.ts';
import { Button } from '../../parts/button.tsx';
import type { Column } from '../../parts/column.ts';
import { count } from '../../parts/format.ts';
import { Table } from '../../parts/table.tsx';
import css from './batch.module.css';

type Group = Batch['error_summary'][number];

interface ErrorsProps {
  batch: Batch;
  isAdmin: boolean;
  /** True where the failed requests can run again. */
  canRetry: boolean;
}

const columns: readonly Column<Group>[] = [
  { id: 'code', header: 'Code', width: 190, cell: ({ code }) => <code>{code}</code> },
  { id: 'count', header: 'Requests', width: 88, align: 'end', cell: (group) => count(group.count) },
  { id: 'example', header: 'For example', cell: ({ example }) => <span title={example}>{example}</span> },
];

function retryColumn(busy: string | null | undefined, retry: (code: string) => void): Column<Group> {
  const cell = ({ code }: Group) => (
    <Button isBusy={busy === code} aria-label={`Retry these: ${code}`} onClick={() => retry(code)}>
      Retry these
    </Button>
  );
  return { id: 'retry', header: 'Retry', width: 130, cell };
}

/** Failed requests by code, each with a sample, and a button that runs them again as a new batch. */
export function Errors({ batch, isAdmin, canRetry }: ErrorsProps) {
  const navigate = useNavigate();
  const retry = useMutation({
    mutationFn: (code: string | null) => retryBatch(isAdmin, batch.id, code === null ? null : [code]),
    onSuccess: ({ id }) => navigate({ to: '/batches/$batchId', params: { batchId: id } }),
  });
  const busy = retry.isPending ? retry.variables : undefined;
  const shown = canRetry ? [...columns, retryColumn(busy, (code) => retry.mutate(code))] : columns;
  return (
    <>
      <Table
        caption="Failed requests by code"
        columns={shown}
        rows={batch.error_summary}
        rowId={({ code }) => code}
      />
      {canRetry && batch.error_summary.length > 1 && (
        <p className={css.after}>
          <Button isBusy={retry.isPending && retry.variables === null} onClick={() => retry.mutate(null)}>
            Retry all failed requests
          </Button>
        </p>
      )}
      {retry.error && <p role="alert">{retry.error.message}</p>}
    </>
  );
}
