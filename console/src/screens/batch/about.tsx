import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Batch } from '../../api/batches.ts';
import { batchName } from '../../parts/batch-name.ts';
import css from './batch.module.css';

/** Members of the metadata that are shown. */
const maxMembers = 12;

/** Model, owner and metadata of the batch. */
export function About({ batch }: { batch: Batch }) {
  return (
    <dl className={css.about}>
      <Fact name="Model">{batch.model ?? 'several'}</Fact>
      <Fact name="Endpoint">{batch.endpoint}</Fact>
      {batch.org && <Fact name="Org">{batch.org}</Fact>}
      <Fact name="Priority">{batch.priority}</Fact>
      {batch.retry_of && (
        <Fact name="Retry of">
          <Link to="/batches/$batchId" params={{ batchId: batch.retry_of }}>
            <code>{batch.retry_of}</code>
          </Link>
        </Fact>
      )}
      <Fact name="ID">
        <code>{batch.id}</code>
      </Fact>
      {membersOf(batch).map(([name, value]) => (
        <Fact key={name} name={name}>
          {value}
        </Fact>
      ))}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
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
