import { createWriteStream, rmSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { connect } from '../../shared/connect.ts';
import type { Cli } from '../../shared/cli.ts';
import { CliError, exitCodes } from '../../shared/exit-codes.ts';
import { interruptible } from '../../shared/signals.ts';
import { openTable } from '../../table/open-table.ts';
import { formatOfName, readTableFormat } from '../../table/table-format.ts';
import type { TableFormat } from '../../table/table.ts';
import { temporaryPath } from '../../storage/local-input.ts';
import { lockOutput, type Output, resolveOutput } from '../run/output.ts';
import type { RunOptions } from '../run/run-options.ts';
import { openSource } from '../run/run-source.ts';
import { planRows, requireKnownColumns } from './plan-rows.ts';
import { estimateTable, runTable } from './run-table.ts';

/** Asks for each row of a table, and writes the table with the answers. */
export async function runRows(cli: Cli, inputPath: string, options: RunOptions): Promise<void> {
  const client = connect(cli, options);
  const copy = temporaryPath(cli);
  const source = await openSource(cli, inputPath, options);
  const { name } = source;
  let output: Output | null = null;
  try {
    const path = source.path ?? (await spool(cli, copy));
    const open = (exact: boolean) =>
      openTable(path, { name, format: options.inputFormat, encoding: options.encoding, exact });
    const table = await open(false);
    const plan = planRows(cli, table, options);
    requireKnownColumns(table, plan);
    const format = outputFormat(options, table.format);
    const run = { plan, options, table, open, path, format };
    if (options.dryRun === true)
      return await estimateTable(cli, client, { ...run, output: null, base: copy });
    output = await resolveOutput(cli, source.place, {
      output: options.output,
      format,
      force: options.force,
      hasErrors: false,
    });
    if (output === null && format === 'parquet')
      throw new CliError('Parquet cannot be written to stdout.', 'Choose a file with -o.');
    const unlock = output === null ? undefined : lockOutput(output);
    try {
      const base = output === null ? copy : `${output.path}.offpeak`;
      await runTable(cli, client, { ...run, output, base });
    } finally {
      unlock?.();
    }
  } finally {
    rmSync(copy, { force: true });
    source.close(output);
  }
}

function outputFormat({ format, output }: RunOptions, input: TableFormat): TableFormat {
  if (format !== undefined) return readTableFormat('--format', format);
  return (output === undefined ? undefined : formatOfName(output)) ?? input;
}

async function spool(cli: Cli, path: string): Promise<string> {
  const stopped = new CliError('Stopped.', 'Nothing was sent.', exitCodes.interrupted);
  await interruptible(cli, stopped, (signal) =>
    pipeline(Readable.from(cli.terminal.stdin), createWriteStream(path, { mode: 0o600 }), { signal }),
  );
  return path;
}
