import { Link } from '@tanstack/react-router';
import css from './batch-title.module.css';
import { batchName } from './batch-name.ts';

interface BatchTitleProps {
  batch: { id: string; metadata?: object | null | undefined };
}

/** Link to a batch under its name, or its id, with the id as tooltip. */
export function BatchTitle({ batch }: BatchTitleProps) {
  const name = batchName(batch);
  return (
    <Link
      to="/batches/$batchId"
      params={{ batchId: batch.id }}
      className={css.title}
      title={name === undefined ? batch.id : `${name} (${batch.id})`}
    >
      {name ?? <code>{batch.id}</code>}
    </Link>
  );
}
