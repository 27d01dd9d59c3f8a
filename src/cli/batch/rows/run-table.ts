import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { pluralize } from '../../../base/words.ts';
import type { Client } from '../../../client/client.ts';
import type { Cli } from '../../shared/cli.ts';
import { garbageCollector } from '../../shared/collect-garbage.ts';
import { CliError, exitCodes } from '../../shared/exit-codes.ts';
import { interruptible } from '../../shared/signals.ts';
import type { Table, TableFormat } from '../../table/table.ts';
import { showInputEstimate } from '../run/estimate.ts';
import type { Output } from '../run/output.ts';
import { runInput } from '../run/run-input.ts';
import type { RunOptions } from '../run/run-options.ts';
import { findEarlierRun } from '../run/run-state.ts';
import { storeResults } from '../run/store-results.ts';
import { openAnswerCache } from './answer-cache.ts';
import { answerColumns } from './answer-columns.ts';
import { joinRows } from './join-rows.ts';
import { openJoinedResults } from './joined-results.ts';
import { identify, openPrepared } from './open-prepared.ts';
import type { Plan } from './plan-rows.ts';
import type { PreparedRows } from './prepare-rows.ts';
import { removeWorkStore } from './work-store.ts';

export interface TableRun {
  plan: Plan;
  options: RunOptions;
  table: Table;
  open(exact: boolean): Promise<Table>;
  /** File of the table. */
  path: string;
  /** Null for stdout and a dry run. */
  output: Output | null;
  format: TableFormat;
  /** Path of the work files, without their endings. */
  base: string;
}

/** Reads the table, or opens the work of an earlier run. */
async function prepareTable(cli: Cli, client: Client, run: TableRun) {
  const { plan, options, table, output, format, base } = run;
  const { answerColumn = 'answer', inputFormat, encoding, raw = false } = options;
  const decisive = { plan: plan.decisive, format, answerColumn, inputFormat, encoding, raw };
  const sha256 = await identify(run.path, decisive);
  const isResumed =
    output !== null && findEarlierRun(output.path, { url: client.baseUrl, sha256, format, cwd: cli.cwd });
  const paths = { work: `${base}.work`, requests: `${base}.requests` };
  const skippedPath =
    options.skipBad === true ? `${(output?.path ?? base).replace(/\.\w+$/, '')}.skipped.jsonl` : null;
  const collectGarbage = garbageCollector(cli);
  const remove = () => {
    removeWorkStore(paths.work);
    rmSync(paths.requests, { force: true });
  };
  const cache =
    options.cache === undefined ? undefined : await openAnswerCache(resolve(cli.cwd, options.cache));
  const sample = options.sample === undefined ? undefined : { size: options.sample, seed: options.seed ?? 0 };
  const stopped = new CliError('Stopped.', 'Nothing was sent.', exitCodes.interrupted);
  const { store, prepared } = await interruptible(cli, stopped, (signal) =>
    openPrepared({
      ...paths,
      isResumed,
      sha256,
      table,
      plan,
      skippedPath,
      cache,
      sample,
      collectGarbage,
      signal,
    }),
  );
  // Otherwise the garbage of the preparation would be in memory alongside the first upload.
  collectGarbage();
  if (prepared.rows === prepared.skipped) {
    store.close();
    remove();
    throw new CliError(`${table.name} has no ${table.unit}s to ask for.`);
  }
  if (options.json !== true && !isResumed) notePrepared(cli, table, prepared);
  return { store, cache, prepared, paths, skippedPath, sha256, remove, collectGarbage };
}

/** Asks for each row of a table and writes it with the answers. */
export async function runTable(cli: Cli, client: Client, run: TableRun): Promise<void> {
  const { plan, options, table, output, format } = run;
  const { store, cache, prepared, paths, skippedPath, sha256, remove, collectGarbage } = await prepareTable(
    cli,
    client,
    run,
  );
  const { endpoint } = plan;
  const answers = answerColumns({
    schema: plan.schema,
    endpoint,
    name: options.answerColumn ?? 'answer',
    taken: prepared.columns.map((column) => column.name),
  });
  const { requests, parts } = prepared;
  await runInput(cli, client, {
    input: { path: paths.requests, sha256, requests, endpoint, parts },
    output: output?.path ?? null,
    format,
    filename: table.name.endsWith('.jsonl') ? table.name : `${table.name}.jsonl`,
    options,
    openResults: (runFile) =>
      Promise.resolve(
        storeResults(
          cli,
          output,
          openJoinedResults({
            run: runFile,
            store,
            cache,
            client,
            clock: cli.clock,
            remove,
            async join() {
              const joined = await joinRows({
                store,
                answers,
                output: output?.path ?? null,
                format,
                terminal: cli.terminal,
                collectGarbage,
                source: await run.open(format === 'parquet'),
                sourcePath: run.path,
                columns: prepared.columns,
                raw: options.raw === true,
              });
              return { output: joined, errors: null, skipped: prepared.skipped > 0 ? skippedPath : null };
            },
          }),
        ),
      ),
  });
}

/** Estimates what a run of a table would ask. Nothing is kept. */
export async function estimateTable(cli: Cli, client: Client, run: TableRun): Promise<void> {
  const { store, cache, prepared, paths, skippedPath, sha256, remove } = await prepareTable(cli, client, run);
  try {
    const { requests, parts } = prepared;
    const { endpoint } = run.plan;
    const input = { path: paths.requests, sha256, requests, endpoint, parts };
    await showInputEstimate(cli, client, input, run.options);
  } finally {
    store.close();
    cache?.close();
    remove();
    if (skippedPath !== null) rmSync(skippedPath, { force: true });
  }
}

function notePrepared(
  { terminal }: Cli,
  { unit }: Table,
  { rows, skipped, repeated, cached, requests }: PreparedRows,
): void {
  const parts = [
    skipped > 0 ? `${skipped} left out` : '',
    repeated > 0 ? `${repeated} repeated` : '',
    cached > 0 ? `${cached} in the cache` : '',
  ].filter(Boolean);
  if (parts.length > 0)
    terminal.note(`${pluralize(rows, unit)}: ${parts.join(', ')}, ${pluralize(requests, 'request')} to ask.`);
}
