import { batchName } from './batch-name.ts';

interface BatchTitleProps {
  batch: { id: string; metadata?: object | null | undefined };
}

/** Name of a batch, or its id, with the id as tooltip. */
export function BatchTitle({ batch }: BatchTitleProps) {
  const name = batchName(batch);
  return name === undefined ? (
    <code title={batch.id}>{batch.id}</code>
  ) : (
    <span title={`${name} (${batch.id})`}>{name}</span>
  );
}
