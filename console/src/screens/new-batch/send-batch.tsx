import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { compact } from '../../parts/format.ts';
import { Money } from '../../parts/money.tsx';
import { State } from '../../parts/state.tsx';
import { Time } from '../../parts/time.tsx';
import { bytes } from '../../parts/bytes.ts';
import type { CheckReport } from './check-input.ts';
import css from './new-batch.module.css';
import {
  createBatches,
  expectedEnd,
  removeParts,
  sumEstimates,
  type UploadedPart,
  uploadParts,
} from './plan.ts';

interface SendBatchProps {
  file: File;
  report: CheckReport;
  onCreated: () => void;
}

/** Uploads a valid file, shows what the server says it costs, and creates the batches after a confirmation. */
export function SendBatch({ file, report, onCreated }: SendBatchProps) {
  const [sent, setSent] = useState(0);
  const [name, setName] = useState(file.name);
  const [priority, setPriority] = useState('');
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const unused = useRef<readonly UploadedPart[]>([]);
  useEffect(
    () => () => {
      // The files of a batch that is not created are not needed.
      void removeParts(unused.current);
    },
    [],
  );
  const upload = useMutation({
    mutationFn: () => {
      setSent(0);
      stop.current = new AbortController();
      return uploadParts({ file, report, onProgress: setSent, signal: stop.current.signal });
    },
    onSuccess: (parts) => {
      unused.current = parts;
    },
  });
  const create = useMutation({
    mutationFn: (parts: readonly UploadedPart[]) => {
      unused.current = [];
      const options = { name: name.trim(), priority: priority === '' ? null : Number(priority) };
      return createBatches(parts, report, options);
    },
    onSuccess: onCreated,
  });
  if (create.data)
    return (
      <section aria-label="Created" className={css.stack}>
        <div role="status">
          <State kind="done">
            {create.data.length === 1
              ? 'The batch was created.'
              : `${create.data.length} batches were created.`}
          </State>
        </div>
        <ul className={css.stack}>
          {create.data.map(({ id, name: given }, index) => (
            <li key={id}>
              <Link to="/batches/$batchId" params={{ batchId: id }} autoFocus={index === 0}>
                Watch {given ?? <code>{id}</code>}
              </Link>
            </li>
          ))}
        </ul>
      </section>
    );
  const isStopped = upload.error?.name === 'AbortError';
  const error = create.error ?? (isStopped ? null : upload.error);
  return (
    <section aria-label="Send" className={css.stack}>
      <div className={css.fields}>
        <label>
          Name
          <input value={name} maxLength={200} onChange={(event) => setName(event.target.value)} />
        </label>
        <label>
          Priority
          <select value={priority} onChange={(event) => setPriority(event.target.value)}>
            <option value="">Default</option>
            {Array.from({ length: 10 }, (_, value) => (
              <option key={value} value={value}>
                {value === 0 ? '0, last' : value === 9 ? '9, first' : value}
              </option>
            ))}
          </select>
        </label>
      </div>
      {upload.isPending && (
        <div className={css.progress}>
          <progress max={file.size} value={sent} aria-label="Uploaded bytes" />
          <span className={css.quiet}>
            {bytes(Math.min(sent, file.size))} of {bytes(file.size)}
          </span>
          <Button autoFocus onClick={() => stop.current?.abort()}>
            Stop
          </Button>
        </div>
      )}
      {error && (
        <p role="alert" className={css.error}>
          {error.message}
        </p>
      )}
      {upload.data ? (
        <Confirm
          parts={upload.data}
          isBusy={create.isPending}
          onCreate={() => create.mutate(upload.data)}
          onDiscard={() => {
            unused.current = [];
            void removeParts(upload.data);
            upload.reset();
            create.reset();
          }}
        />
      ) : (
        !upload.isPending && (
          <div className={css.actions}>
            <Button kind="primary" onClick={() => upload.mutate()}>
              Upload and show the cost
            </Button>
            <span className={css.quiet}>No batch is created yet.</span>
          </div>
        )
      )}
    </section>
  );
}

interface ConfirmProps {
  parts: readonly UploadedPart[];
  isBusy: boolean;
  onCreate: () => void;
  onDiscard: () => void;
}

/** Cost and limits by a dry run of the server. */
function Confirm({ parts, isBusy, onCreate, onDiscard }: ConfirmProps) {
  const { amount, listAmount, inputTokens, outputTokens, isExact, exceeded } = sumEstimates(parts);
  return (
    <>
      <dl className={css.facts}>
        <div>
          <dt>Cost at most</dt>
          <dd>
            <Money amount={amount} />{' '}
            <span className={css.quiet}>
              (<Money amount={listAmount} /> without a batch)
            </span>
          </dd>
        </div>
        <div>
          <dt>Input tokens</dt>
          <dd>
            {compact(inputTokens)} {isExact ? '' : '(estimated)'}
          </dd>
        </div>
        <div>
          <dt>Output tokens at most</dt>
          <dd>{compact(outputTokens)}</dd>
        </div>
        <div>
          <dt>Expected end</dt>
          <dd>
            <ExpectedEnd parts={parts} />
          </dd>
        </div>
      </dl>
      {exceeded.map(({ name, limit, used, adds }) => (
        <State key={`${name} ${adds}`} kind="warning">
          {`${name}: ${compact(used)} of ${compact(limit)} are used, and the batch adds ${compact(adds)}.`}
        </State>
      ))}
      <div className={css.actions}>
        <Button kind="primary" autoFocus isBusy={isBusy} onClick={onCreate}>
          {parts.length === 1 ? 'Create the batch' : `Create ${parts.length} batches`}
        </Button>
        <Button onClick={onDiscard} disabled={isBusy}>
          Discard the upload
        </Button>
      </div>
    </>
  );
}

/** When the batch would be done at the measured rate, after the work before it. */
function ExpectedEnd({ parts }: { parts: readonly UploadedPart[] }) {
  const { eta, isEarliest, tokensAhead, isAtRisk, reason } = expectedEnd(parts);
  if (eta === null) return <span className={css.quiet}>Unknown: {reason}</span>;
  return (
    <>
      {isEarliest && 'Not before '}
      <Time at={new Date(eta).toISOString()} />{' '}
      {tokensAhead > 0 && (
        <span className={css.quiet}>after {compact(tokensAhead)} tokens of other batches</span>
      )}
      {isAtRisk && <State kind="warning">After the end of its window</State>}
    </>
  );
}
