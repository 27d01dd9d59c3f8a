import type { Client } from '../../../client/client.ts';
import { ClientError } from '../../../client/errors.ts';
import type { RemoteBatch } from '../../../client/resources.ts';
import { sum } from '../../../base/sum.ts';
import { pluralize } from '../../../base/words.ts';
import type { Cli, ClientOptions } from '../../shared/cli.ts';
import { CliError, exitCodes } from '../../shared/exit-codes.ts';
import { showPath } from '../../shared/local-file.ts';
import { interruptible } from '../../shared/signals.ts';
import { createProgress, noProgress } from '../progress.ts';
import { costText, exitCodeOf, paintStatus } from '../show-batch.ts';
import { combineBatches } from './combine.ts';
import type { InputFile } from './read-input.ts';
import type { ResultPaths, Results } from './results.ts';
import { runParts } from './run-parts.ts';
import { openRunFile, type Collected, type RunFile } from './run-state.ts';
import { waitForEnd } from './wait.ts';

/** Options of the batches of a run. */
export interface BatchOptions extends ClientOptions {
  metadata?: Record<string, string>;
  priority?: number;
  window?: string;
  endpoint?: string;
}

export interface InputRun {
  input: InputFile;
  /** Null for stdout. */
  output: string | null;
  format: string;
  filename: string;
  options: BatchOptions;
  openResults(run: RunFile): Promise<Results>;
}

/** Runs an input file as one or several batches, collects the results and prints a summary. */
export async function runInput(cli: Cli, client: Client, wanted: InputRun): Promise<void> {
  const { input, output, format, filename, options } = wanted;
  const { clock, terminal } = cli;
  const json = options.json === true;
  const run = openRunFile(output, {
    url: client.baseUrl,
    sha256: input.sha256,
    format,
    parts: input.parts.length,
    random: cli.random,
    cwd: cli.cwd,
  });
  const results = await wanted.openResults(run);
  const quiet = json || (output === null && terminal.stderr.isTTY !== true);
  const progress = quiet ? noProgress : createProgress(terminal, clock);
  const parts = runParts({
    client,
    process: cli,
    run,
    input,
    filename,
    endpoint: options.endpoint ?? input.endpoint,
    metadata: options.metadata,
    priority: options.priority,
    window: options.window,
    note: (text) => progress.note(text),
    collect: (batch, part) => results.collect(batch, part),
  });
  try {
    const batches = input.parts.length <= 1 ? '' : ` as ${input.parts.length} batches`;
    if (!json && input.requests > 0 && run.state.parts.every(({ batch_id: id }) => id === null))
      terminal.note(`Uploading ${filename} (${pluralize(input.requests, 'request')}${batches}) ...`);
    const goOn = output === null ? 'Nothing was started.' : 'Run the same command again to resume.';
    const stopped = new CliError('Stopped.', goOn, exitCodes.interrupted);
    await interruptible(cli, stopped, (signal) => parts.upload(signal));
    const isDone = await waitForEnd(cli, { parts, progress, run, requests: input.requests });
    progress.stop();
    if (!isDone) return;
    if (input.parts.length > 0 && parts.batches().length === 0) return await giveUp(cli, run, results);
    const files = await results.finish();
    run.remove();
    const { collected } = run.state;
    conclude(cli, { batches: parts.batches(), input, collected, files, json, output });
  } catch (error) {
    // A rejected input leaves nothing to resume, unless an earlier run has created a batch.
    const isRejected = error instanceof ClientError && error.status < 500 && error.status !== 429;
    if (isRejected && !run.isResumed && run.state.parts.every(({ batch_id: id }) => id === null)) {
      run.remove();
      await results.discard();
    }
    throw error;
  } finally {
    progress.stop();
    await results.close();
  }
}

/** Cleans up after a cancellation before the first batch. */
async function giveUp(cli: Cli, run: RunFile, results: Results): Promise<void> {
  run.remove();
  await results.discard();
  cli.terminal.note('Nothing was started.');
  cli.exitCode = exitCodes.batchStopped;
}

interface Conclusion {
  batches: RemoteBatch[];
  input: InputFile;
  collected: Collected;
  files: ResultPaths;
  json: boolean;
  output: string | null;
}

function conclude(cli: Cli, { batches, input, collected, files, json, output }: Conclusion): void {
  const { terminal } = cli;
  if (batches.length === 0) return concludeWithoutBatches(cli, { files, json });
  const codes = batches.map(exitCodeOf);
  const whole = combineBatches(batches, input.requests);
  const { batchFailed, batchStopped, linesFailed, ok } = exitCodes;
  const worst = [batchFailed, batchStopped, linesFailed].find((code) => codes.includes(code));
  cli.exitCode = worst ?? (batches.length < input.parts.length ? batchStopped : ok);
  const { completed, failures } = collected;
  const failed = sum(failures.map(({ count }) => count));
  if (json) {
    const [only] = batches;
    return terminal.json(batches.length === 1 ? { ...only, files } : { ...whole, id: null, batches, files });
  }
  // Keeps the summary out of results on stdout.
  const print = (text: string) => (output === null ? terminal.note(text) : terminal.print(text));
  const name = batches.length === 1 ? whole.id : pluralize(batches.length, 'batch');
  print(`${name} ${paintStatus(whole, terminal)}: ${completed} completed, ${failed} failed`);
  const unsent = input.requests - completed - failed;
  if (unsent > 0) print(`${pluralize(unsent, 'request')} ${unsent === 1 ? 'has' : 'have'} no result.`);
  if (output !== null)
    terminal.record([
      ['results', files.output && showPath(cli, files.output)],
      ['errors', files.errors && showPath(cli, files.errors)],
      ['left out', files.skipped && showPath(cli, files.skipped)],
      ['cost', costText(whole)],
    ]);
  for (const { code, count, message } of failures) print(`failures  ${count} x ${code}: ${message}`);
}

/** All answers were known before. */
function concludeWithoutBatches(cli: Cli, { files, json }: Pick<Conclusion, 'files' | 'json'>): void {
  const { terminal } = cli;
  if (json) return terminal.json({ id: null, batches: [], files });
  const { output, skipped } = files;
  if (output === null) return;
  terminal.record([
    ['results', showPath(cli, output)],
    ['left out', skipped && showPath(cli, skipped)],
  ]);
}
