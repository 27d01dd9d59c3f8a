import { useQuery } from '@tanstack/react-query';
import { type DragEvent, useId, useState } from 'react';
import { chatModelsQuery } from '../../api/models.ts';
import { Code } from '../../parts/code.tsx';
import { bytes } from '../../parts/bytes.ts';
import css from './new-batch.module.css';

/** Area to drop a file on, or to choose one. */
export function DropArea({ file, onFile }: { file: File | null; onFile: (file: File | null) => void }) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  const { data: models } = useQuery(chatModelsQuery);
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
              <strong>{file.name}</strong> <span className="quiet">{bytes(file.size)}</span>
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
        {!file && <p className="quiet">It is checked in the browser. Nothing is sent yet.</p>}
      </div>
      {!file && <Code label="One request on each line" text={exampleFor(models?.[0]?.id ?? 'default')} />}
    </>
  );
}

function exampleFor(model: string): string {
  const messages = [{ role: 'user', content: 'Hello' }];
  const lines = ['first', 'second'].map((id) => ({
    custom_id: id,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model, messages },
  }));
  return lines.map((line) => JSON.stringify(line)).join('\n');
}
