import { createWriteStream, type WriteStream } from 'node:fs';
import { once } from 'node:events';
import { pluralize } from '../../../base/words.ts';
import { CliError } from '../../shared/exit-codes.ts';
import type { Table, TableRow } from '../../table/table.ts';

const maxShown = 5;
/** Faults at which the rest of a table is not read. */
const maxFaults = 1000;

/** Collects the rows that cannot be asked: to a file with `--skip-bad`, else for an error. */
export function createRowFaults({ unit, name }: Pick<Table, 'unit' | 'name'>, skippedPath: string | null) {
  const shown: string[] = [];
  let count = 0;
  let file: WriteStream | undefined;
  const error = () =>
    new CliError(
      `${count >= maxFaults ? `At least ${count} ${unit}s` : pluralize(count, unit)} of ${name} cannot be asked.`,
      'Nothing was sent. Correct them, or leave them out with --skip-bad.',
      undefined,
      [...shown, ...(count > shown.length ? [`... and ${count - shown.length} more`] : [])],
    );
  return {
    /** @throws CliError after too many faults */
    async add({ number, values, text }: TableRow, reason: string): Promise<void> {
      count++;
      if (skippedPath === null) {
        if (shown.length < maxShown) shown.push(`${unit} ${number}: ${reason}`);
        if (count >= maxFaults) throw error();
        return;
      }
      file ??= createWriteStream(skippedPath, { mode: 0o600 });
      const isInvalid = text !== undefined && Object.keys(values).length === 0;
      const line = `${JSON.stringify({ [unit]: number, reason, ...(isInvalid ? { text } : { values }) }, plain)}\n`;
      if (!file.write(line)) await once(file, 'drain');
    },
    /** @returns number of rows that are left out. @throws CliError without `--skip-bad` */
    async finish(): Promise<number> {
      if (file !== undefined) {
        file.end();
        await once(file, 'finish');
      }
      if (count > 0 && skippedPath === null) throw error();
      return count;
    },
  };
}

function plain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
