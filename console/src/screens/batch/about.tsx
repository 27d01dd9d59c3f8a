import { Link } from '@tanstack/react-router';
import type { Batch } from '../../api/batches.ts';
import { batchName } from '../../parts/batch-name.ts';
import { NamedFact } from '../../parts/facts.tsx';
import css from './batch.module.css';

/** Members of the metadata that are shown. */
const maxMembers = 12;

/** Model, owner and metadata of the batch. */
export function About({ batch }: { batch: Batch }) {
  return (
    <dl className={css.about}>
      <NamedFact name="Model">{batch.model ?? 'several'}</NamedFact>
      <NamedFact name="Endpoint">{batch.endpoint}</NamedFact>
      {batch.org && <NamedFact name="Org">{batch.org}</NamedFact>}
      <NamedFact name="Priority">{batch.priority}</NamedFact>
      {batch.retry_of && (
        <NamedFact name="Retry of">
          <Link to="/batches/$batchId" params={{ batchId: batch.retry_of }}>
            <code>{batch.retry_of}</code>
          </Link>
        </NamedFact>
      )}
      <NamedFact name="ID">
        <code>{batch.id}</code>
      </NamedFact>
      {membersOf(batch).map(([name, value]) => (
        <NamedFact key={name} name={name}>
          {value}
        </NamedFact>
      ))}
    </dl>
  );
}

/** Metadata besides the name, which is the heading. */
function membersOf(batch: Batch): [name: string, value: string][] {
  const name = batchName(batch);
  return Object.entries(batch.metadata ?? {})
    .map(([key, value]): [string, string] => [key, typeof value === 'string' ? value : JSON.stringify(value)])
    .filter(([, value]) => value !== name)
    .slice(0, maxMembers);
}
