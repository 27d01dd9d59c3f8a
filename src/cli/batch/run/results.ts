import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../../base/clock.ts';
import { parseLine } from '../../../base/byte-lines.ts';
import type { Client } from '../../../client/client.ts';
import type { RemoteBatch, ResultLine } from '../../../client/resources.ts';
import type { ResultStream } from '../../../core/batch.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { csvHead, csvRow, type Format } from './csv.ts';
import { orderedResults } from './download.ts';
import { errorsPath } from './output.ts';
import { type InputPart, readCustomIds } from './read-input.ts';
import { openResultsFile, resultsToStdout, type ResultsFile } from './results-file.ts';
import type { Collected, RunFile } from './run-state.ts';

/** Paths of the results files; null for a file without lines. */
export interface ResultPaths {
  output: string | null;
  errors: string | null;
  /** Rows that were left out. */
  skipped?: string | null;
}

/** Collector of the results of a run. */
export interface Results {
  /** Downloads the results of a finished batch. Called in the order of the parts. */
  collect(batch: RemoteBatch, part: InputPart): Promise<void>;
  finish(): Promise<ResultPaths>;
  /** Removes the results so far. */
  discard(): Promise<void>;
  /** Closes the files, so that a later run can resume. */
  close(): Promise<void>;
}

export interface ResultsDeps {
  /** Null for stdout. */
  output: string | null;
  format: Format;
  /** With csv: do not escape formulas. */
  raw: boolean;
  run: RunFile;
  /** File of the requests. */
  inputPath: string;
  client: Client;
  clock: Clock;
  terminal: Terminal;
}

/** Collects the results of a run, part by part. Failed lines go to a file of their own, except with CSV and on stdout. */
export async function openResults(deps: ResultsDeps): Promise<Results> {
  const { output, format, raw, run, inputPath, client, clock, terminal } = deps;
  const { sizes } = run.state.collected;
  const good = output === null ? resultsToStdout(terminal) : await openResultsFile(output, sizes.output);
  const bad =
    output === null || format === 'csv' ? null : await openResultsFile(errorsPath(output), sizes.errors);
  if (format === 'csv' && sizes.output === 0) await good.write(csvHead);
  const scratch =
    output === null ? join(tmpdir(), `offpeak-${run.state.parts[0]!.token}`) : `${output}.download`;

  async function take(
    streams: ResultStream[],
    target: ResultsFile,
    { batch, part, sums }: { batch: RemoteBatch; part: InputPart; sums: Collected },
  ) {
    const customIds = readCustomIds(inputPath, part);
    const wanted = { client, clock, batchId: batch.id, streams, customIds };
    for await (const bytes of orderedResults(wanted, scratch)) {
      const isGood = !streams.includes('errors');
      const line = isGood && format === 'jsonl' ? undefined : (parseLine(bytes) as ResultLine | undefined);
      if (line === undefined) sums.completed++;
      else countResult(sums, line);
      await target.write(format === 'csv' && line !== undefined ? csvRow(line, raw) : bytes);
    }
  }

  return {
    async collect(batch: RemoteBatch, part: InputPart) {
      const sums = structuredClone(run.state.collected);
      const from = { batch, part, sums };
      if (bad === null) await take(['output', 'errors'], good, from);
      else {
        // An earlier attempt may have written only one of the two streams.
        await good.rewind(sums.sizes.output);
        await bad.rewind(sums.sizes.errors);
        await take(['output'], good, from);
        await take(['errors'], bad, from);
      }
      sums.parts++;
      sums.sizes = { output: await good.flush(), errors: (await bad?.flush()) ?? 0 };
      run.collect(sums);
    },
    async finish(): Promise<ResultPaths> {
      return { output: await good.finish(), errors: (await bad?.finish()) ?? null };
    },
    async discard() {
      await good.discard();
      await bad?.discard();
    },
    async close() {
      await good.close();
      await bad?.close();
    },
  };
}

/** True for an answer without an error. */
export function isCompleted({ error, response }: ResultLine): boolean {
  return error === null && response !== null && response.status_code < 400;
}

/** Adds a result line to the sums. */
export function countResult(sums: Collected, line: ResultLine): void {
  if (isCompleted(line)) sums.completed++;
  else countFailure(sums, line);
}

function countFailure({ failures }: Collected, { error, response }: ResultLine): void {
  const reported =
    error ?? (response?.body as { error?: { code?: string; message?: string } } | undefined)?.error;
  const code = reported?.code ?? String(response?.status_code ?? 'unknown');
  const known = failures.find((failure) => failure.code === code);
  if (known !== undefined) known.count++;
  else failures.push({ code, count: 1, message: reported?.message ?? '' });
}
