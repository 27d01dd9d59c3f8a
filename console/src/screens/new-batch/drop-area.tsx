import { type DragEvent, useId, useState } from 'react';
import { Code } from '../../parts/code.tsx';
import { bytes } from './bytes.ts';
import css from './new-batch.module.css';

const example = `{"custom_id":"1","method":"POST","url":"/v1/chat/completions","body":{"model":"default","messages":[{"role":"user","content":"Hello"}]}}`;

/** Area to drop a file on, or to choose one. */
export function DropArea({ file, onFile }: { file: File | null; onFile: (file: File | null) => void }) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const [dropped] = event.dataTransfer.files;
    if (dropped) onFile(dropped);
  };
  return (
    <>
      <div
        className={css.drop}
        data-over={isOver}
        data-small={file !== null}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <label htmlFor={id}>
          {file ? (
            <>
              <strong>{file.name}</strong> <span className={css.quiet}>{bytes(file.size)}</span>
            </>
          ) : (
            <strong>Drop a JSONL file here, or choose one</strong>
          )}
        </label>
        <input
          id={id}
          type="file"
          accept=".jsonl,.ndjson,.json,.txt"
          onChange={(event) => onFile(event.target.files?.[0] ?? null)}
        />
        {!file && <p className={css.quiet}>It is checked in the browser. Nothing is sent yet.</p>}
      </div>
      {!file && <Code label="One request per line" text={example} />}
    </>
  );
}
