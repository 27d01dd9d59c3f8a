import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useSession, hasScope } from '../../api/session.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { Screen } from '../../parts/screen.tsx';
import { CheckResult } from './check-result.tsx';
import { DropArea } from './drop-area.tsx';
import { SendBatch } from './send-batch.tsx';
import { useCheck } from './use-check.ts';
import css from './new-batch.module.css';

/** A batch from a file: checked while it is read, priced, and created. */
export function NewBatch() {
  const session = useSession();
  const queries = useQueryClient();
  const [file, setFile] = useState<File | null>(null);
  const check = useCheck(file);
  if (!hasScope(session, 'batches') || !hasScope(session, 'files'))
    return (
      <Screen title="New batch">
        <EmptyState title="This key may not create batches.">
          It needs the scopes <code>batches</code> and <code>files</code>.
        </EmptyState>
      </Screen>
    );
  const { report, isDone } = check;
  const isValid = isDone && report !== null && report.faultCount === 0;
  return (
    <Screen title="New batch">
      <div className={css.stack}>
        <DropArea file={file} onFile={setFile} />
        {file && <CheckResult file={file} check={check} />}
        {file && isValid && (
          <SendBatch
            key={`${file.name} ${file.lastModified} ${file.size}`}
            file={file}
            report={report}
            onCreated={() => void queries.invalidateQueries()}
          />
        )}
      </div>
    </Screen>
  );
}
