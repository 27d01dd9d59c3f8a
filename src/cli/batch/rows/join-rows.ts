import type { Terminal } from '../../terminal/terminal.ts';
import { openWriter, type WriterOptions } from '../../table/open-writer.ts';
import { openResultsFile, resultsToStdout } from '../run/results-file.ts';
import type { AnswerColumns } from './answer-columns.ts';
import type { WorkStore } from './work-store.ts';

export interface JoinDeps extends Omit<WriterOptions, 'added' | 'emit'> {
  store: WorkStore;
  answers: AnswerColumns;
  /** Null for stdout. */
  output: string | null;
  terminal: Terminal;
  /** Called now and then, to limit the memory of a large table. */
  collectGarbage: () => void;
}

const batchesPerCollection = 2;

/** Writes the rows of a table with their answers, in the order of the table. Rows that were left out are missing. */
export async function joinRows(deps: JoinDeps): Promise<string | null> {
  const { store, answers, output, terminal, source } = deps;
  const file = output === null ? resultsToStdout(terminal) : await openResultsFile(output, 0);
  try {
    const writer = await openWriter({ ...deps, added: answers.columns, emit: (bytes) => file.write(bytes) });
    let batches = 0;
    const asked = store.rows();
    let next = asked.next();
    for await (const batch of source.read()) {
      if (++batches % batchesPerCollection === 0) deps.collectGarbage();
      for (const row of batch) {
        while (next.done !== true && next.value.number < row.number) next = asked.next();
        if (next.done === true || next.value.number !== row.number) continue;
        const { request, answer } = next.value;
        if (request !== null) await writer.write(row, answers.cells(answer));
      }
    }
    await writer.finish();
    return await file.finish();
  } finally {
    await file.close();
  }
}
