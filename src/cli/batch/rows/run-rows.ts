import { createWriteStream, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pluralize } from '../../../base/words.ts';
import { connect } from '../../shared/connect.ts';
import type { Cli } from '../../shared/cli.ts';
import { garbageCollector } from '../../shared/collect-garbage.ts';
import { CliError, exitCodes } from '../../shared/exit-codes.ts';
import { existingFile, showPath } from '../../shared/local-file.ts';
import { interruptible } from '../../shared/signals.ts';
import { openTable } from '../../table/open-table.ts';
import { formatOfName, readTableFormat } from '../../table/table-format.ts';
import type { Table, TableFormat } from '../../table/table.ts';
import { lockOutput, resolveOutput } from '../run/output.ts';
import { runInput } from '../run/run-input.ts';
import type { RunOptions } from '../run/run-options.ts';
import { findEarlierRun } from '../run/run-state.ts';
import { answerColumns } from './answer-columns.ts';
import { joinRows } from './join-rows.ts';
import { openJoinedResults } from './joined-results.ts';
import { identify, openPrepared } from './open-prepared.ts';
import { type Plan, planRows, requireKnownColumns } from './plan-rows.ts';
import type { PreparedRows } from './prepare-rows.ts';
import { removeWorkStore } from './work-store.ts';

/** Asks for each row of a table, and writes the table with the answers. */
export async function runRows(cli: Cli, inputPath: string, options: RunOptions): Promise<void> {
  const client = connect(cli, options);
  const random = Buffer.from(cli.random.bytes(8)).toString('hex');
  const copy = join(tmpdir(), `offpeak-${random}`);
  const name = inputPath === '-' ? 'stdin' : basename(inputPath);
  try {
    const path = inputPath === '-' ? await spool(cli, copy) : existingFile(inputPath, cli.cwd);
    const open = (exact: boolean) =>
      openTable(path, { name, format: options.inputFormat, encoding: options.encoding, exact });
    const table = await open(false);
    const plan = planRows(cli, table, options);
    requireKnownColumns(table, plan);
    const source = inputPath === '-' ? undefined : path;
    const format = outputFormat(options, table.format);
    const output = await resolveOutput(cli, source, {
      output: options.output,
      format,
      force: options.force,
      hasErrors: false,
    });
    if (output === null && format === 'parquet')
      throw new CliError('Parquet cannot be written to stdout.', 'Choose a file with -o.');
    const unlock = output === null ? undefined : lockOutput(output, showPath(cli, output));
    try {
      const base = output === null ? copy : `${output}.offpeak`;
      await runTable(cli, client, { plan, options, table, open, path, source, output, format, base });
    } finally {
      unlock?.();
    }
  } finally {
    rmSync(copy, { force: true });
  }
}

interface TableRun {
  plan: Plan;
  options: RunOptions;
  table: Table;
  open(exact: boolean): Promise<Table>;
  /** File of the table. */
  path: string;
  /** Undefined for stdin. */
  source: string | undefined;
  output: string | null;
  format: TableFormat;
  /** Path of the work files, without their endings. */
  base: string;
}

async function runTable(cli: Cli, client: ReturnType<typeof connect>, run: TableRun): Promise<void> {
  const { plan, options, table, output, format, base } = run;
  const { answerColumn = 'answer', inputFormat, encoding, raw = false } = options;
  const decisive = { plan: plan.decisive, format, answerColumn, inputFormat, encoding, raw };
  const sha256 = await identify(run.path, decisive);
  const isResumed =
    output !== null && findEarlierRun(output, { url: client.baseUrl, sha256, format, cwd: cli.cwd });
  const paths = { work: `${base}.work`, requests: `${base}.requests` };
  const skippedPath =
    options.skipBad === true ? `${(output ?? base).replace(/\.\w+$/, '')}.skipped.jsonl` : null;
  const collectGarbage = garbageCollector(cli);
  const remove = () => {
    removeWorkStore(paths.work);
    rmSync(paths.requests, { force: true });
  };
  const stopped = new CliError('Stopped.', 'Nothing was sent.', exitCodes.interrupted);
  const { store, prepared } = await interruptible(cli, stopped, (signal) =>
    openPrepared({ ...paths, isResumed, sha256, table, plan, skippedPath, collectGarbage, signal }),
  );
  if (prepared.rows === prepared.skipped) {
    store.close();
    remove();
    throw new CliError(`${table.name} has no ${table.unit}s to ask for.`);
  }
  if (options.json !== true && !isResumed) notePrepared(cli, table, prepared);
  const { endpoint } = plan;
  const answers = answerColumns({
    schema: plan.schema,
    endpoint,
    name: answerColumn,
    taken: prepared.columns.map((column) => column.name),
  });
  const { requests, parts } = prepared;
  await runInput(cli, client, {
    input: { path: paths.requests, sha256, requests, endpoint, parts },
    output,
    format,
    filename: table.name.endsWith('.jsonl') ? table.name : `${table.name}.jsonl`,
    options,
    openResults: (runFile) =>
      Promise.resolve(
        openJoinedResults({
          run: runFile,
          store,
          client,
          clock: cli.clock,
          remove,
          async join() {
            const joined = await joinRows({
              store,
              answers,
              output,
              format,
              terminal: cli.terminal,
              collectGarbage,
              source: await run.open(format === 'parquet'),
              sourcePath: run.path,
              columns: prepared.columns,
              raw,
            });
            return { output: joined, errors: null, skipped: prepared.skipped > 0 ? skippedPath : null };
          },
        }),
      ),
  });
}

function notePrepared(
  { terminal }: Cli,
  { unit }: Table,
  { rows, skipped, repeated, requests }: PreparedRows,
): void {
  const parts = [skipped > 0 ? `${skipped} left out` : '', repeated > 0 ? `${repeated} repeated` : ''].filter(
    Boolean,
  );
  if (parts.length > 0)
    terminal.note(`${pluralize(rows, unit)}: ${parts.join(', ')}, ${pluralize(requests, 'request')} to ask.`);
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
