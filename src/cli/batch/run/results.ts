import { existsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import type { Clock } from '../../../base/clock.ts';
import { makeFolder } from '../../../base/make-folder.ts';
import { parseLine } from '../../../base/byte-lines.ts';
import type { Client } from '../../../client/client.ts';
import type { RemoteBatch, ResultLine } from '../../../client/resources.ts';
import type { ResultStream } from '../../../core/batch.ts';
import type { Cli } from '../../shared/cli.ts';
import { CliError } from '../../shared/exit-codes.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { csvHead, csvRow, type Format } from './csv.ts';
import { orderedResults } from './download.ts';
import type { InputPart } from './read-input.ts';
import { openResultsFile, resultsToStdout, type ResultsFile } from './results-file.ts';
import type { Collected, RunFile } from './run-state.ts';

/** The files that are there in the end: none where there was nothing to write. */
export interface ResultPaths {
  output: string | null;
  errors: string | null;
}

export type Results = Awaited<ReturnType<typeof openResults>>;

export interface ResultsDeps {
  /** Null for stdout. */
  output: string | null;
  format: Format;
  /** Texts of a table as they are, also those that begin like a formula. */
  raw: boolean;
  run: RunFile;
  client: Client;
  clock: Clock;
  terminal: Terminal;
}

/**
 * Where the results of a run are gathered, part by part. Failed lines have a file of their own, except where people want one
 * list: on stdout, and as CSV.
 */
export async function openResults({ output, format, raw, run, client, clock, terminal }: ResultsDeps) {
  const { sizes } = run.state.collected;
  const good = output === null ? resultsToStdout(terminal) : await openResultsFile(output, sizes.output);
  const bad =
    output === null || format === 'csv' ? null : await openResultsFile(errorsOf(output), sizes.errors);
  if (format === 'csv' && sizes.output === 0) await good.write(csvHead);
  const scratch =
    output === null ? join(tmpdir(), `offpeak-${run.state.parts[0]!.token}`) : `${output}.download`;

  async function take(
    streams: ResultStream[],
    target: ResultsFile,
    { batch, part, sums }: { batch: RemoteBatch; part: InputPart; sums: Collected },
  ) {
    const wanted = { client, clock, batchId: batch.id, streams, customIds: part.customIds };
    for await (const bytes of orderedResults(wanted, scratch)) {
      const isGood = !streams.includes('errors');
      const line = isGood && format === 'jsonl' ? undefined : (parseLine(bytes) as ResultLine | undefined);
      if (line === undefined || isCompleted(line)) sums.completed++;
      else countFailure(sums, line);
      await target.write(format === 'csv' && line !== undefined ? csvRow(line, raw) : bytes);
    }
  }

  return {
    async collect(batch: RemoteBatch, part: InputPart) {
      const sums = structuredClone(run.state.collected);
      const from = { batch, part, sums };
      if (bad === null) await take(['output', 'errors'], good, from);
      else {
        // Of an attempt before, the second stream may not have come.
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
    /** Leaves nothing behind. */
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

function isCompleted({ error, response }: ResultLine): boolean {
  return error === null && response !== null && response.status_code < 400;
}

function countFailure({ failures }: Collected, { error, response }: ResultLine): void {
  const told =
    error ?? (response?.body as { error?: { code?: string; message?: string } } | undefined)?.error;
  const code = told?.code ?? String(response?.status_code ?? 'unknown');
  const known = failures.find((failure) => failure.code === code);
  if (known !== undefined) known.count++;
  else failures.push({ code, count: 1, message: told?.message ?? '' });
}

/** `a/out.jsonl` as `a/out.errors.jsonl`. */
function errorsOf(output: string): string {
  return `${output.replace(/\.jsonl$/, '')}.errors.jsonl`;
}

/** Where the results go: a path whose folder is there, or null for stdout. */
export async function resolveOutput(
  cli: Cli,
  source: string | undefined,
  { output: asked, format, force }: { output?: string; format: Format; force?: boolean },
): Promise<string | null> {
  if (asked === '-' || (asked === undefined && source === undefined)) return null;
  const output = resolve(cli.cwd, asked ?? withSuffix(source!, 'output', format));
  // CSV has no second file.
  const written = format === 'csv' ? [output] : [output, errorsOf(output)];
  if (source !== undefined && written.includes(source))
    throw new CliError('The results would overwrite the input.', 'Choose another file with -o.');
  const taken = written.filter((path) => existsSync(path));
  // A device would be replaced as well: the results get their name in one step.
  const odd = taken.find((path) => !statSync(path).isFile());
  if (odd !== undefined)
    throw new CliError(
      `${showPath(cli, odd)} is not a file.`,
      'Choose another with -o; -o - prints the results.',
    );
  if (taken[0] !== undefined && force !== true && !existsSync(`${output}.offpeak.json`))
    throw new CliError(
      `${showPath(cli, taken[0])} is there already.`,
      'Pass --force to overwrite it, or another -o.',
    );
  await makeFolder(dirname(output));
  return output;
}

/** `a/in.jsonl` as `a/in.output.jsonl`. */
function withSuffix(path: string, suffix: string, format: Format): string {
  return `${path.replace(/\.jsonl$/, '')}.${suffix}.${format}`;
}

/** A path as it is called from where the user stands. */
export function showPath({ cwd }: Pick<Cli, 'cwd'>, path: string): string {
  const short = relative(cwd, path);
  return short === '' || short.startsWith('..') ? path : short;
}
