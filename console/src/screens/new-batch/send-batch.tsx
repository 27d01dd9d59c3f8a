import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { State } from '../../parts/state.tsx';
import { bytes } from '../../parts/bytes.ts';
import type { CheckReport } from './check-input.ts';
import { Confirm } from './confirm.tsx';
import css from './new-batch.module.css';
import { type Batch, createBatches, removeParts, type UploadedPart, uploadParts } from './plan.ts';

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
  const [window, setWindow] = useState<string | null>(null);
  const created = useRef(new Map<string, Batch>());
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
      const options = {
        name: name.trim(),
        priority: priority === '' ? null : Number(priority),
        window: window ?? '24h',
      };
      return createBatches(parts, report, options, created.current);
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
          <span className="quiet">
            {bytes(Math.min(sent, file.size))} of {bytes(file.size)}
          </span>
          <Button autoFocus onClick={() => stop.current?.abort()}>
            Stop
          </Button>
        </div>
      )}
      {error && (
        <p role="alert" className="alert">
          {error.message}
        </p>
      )}
      {upload.data ? (
        <Confirm
          parts={upload.data}
          window={window ?? upload.data[0]!.estimate.completion_window}
          onWindow={setWindow}
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
            <span className="quiet">No batch is created yet.</span>
          </div>
        )
      )}
    </section>
  );
}
