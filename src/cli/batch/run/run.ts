import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Command } from 'commander';
import type { Client } from '../../../client/client.ts';
import { ClientError } from '../../../client/errors.ts';
import type { RemoteBatch } from '../../../client/resources.ts';
import { combineBatches } from './combine.ts';
import { type Format, readFormat, rawOption } from './csv.ts';
import { lockOutput, resolveOutput } from './output.ts';
import { prepareInput } from './prepare-input.ts';
import { createProgress, noProgress } from '../progress.ts';
import { type InputFile, readInput, refuseDuplicateIds } from './read-input.ts';
import { openResults, type ResultPaths, type Results } from './results.ts';
import { runParts } from './run-parts.ts';
import { openRunFile, type Collected, type RunFile } from './run-state.ts';
import { waitForEnd } from './wait.ts';
import { costText, exitCodeOf, paintStatus } from '../show-batch.ts';
import { clientCommand, examples, metadataOption, priorityOption } from '../../shared/commands.ts';
import { connect } from '../../shared/connect.ts';
import type { Cli, ClientOptions } from '../../shared/cli.ts';
import { CliError, exitCodes } from '../../shared/exit-codes.ts';
import { existingFile, showPath } from '../../shared/local-file.ts';
import { sum } from '../../../base/sum.ts';
import { pluralize } from '../../../base/words.ts';
import { interruptible } from '../../shared/signals.ts';

interface Options extends ClientOptions {
  output?: string;
  format: string;
  raw?: boolean;
  force?: boolean;
  metadata?: Record<string, string>;
  priority?: number;
  model?: string;
  set?: string[];
  endpoint?: string;
  wrap?: boolean;
}

export function batchRun(cli: Cli): Command {
  return clientCommand('run', 'upload a JSONL file, run it as a batch and download the results in its order')
    .argument('<input>', 'JSONL file with one request a line, or - for stdin')
    .option(
      '-o, --output <file>',
      'results file, or - for stdout (default: the input path with .output.jsonl)',
    )
    .option('--format <format>', 'format of the results: jsonl or csv', 'jsonl')
    .addOption(rawOption())
    .option('-f, --force', 'overwrite existing results')
    .option('--model <id>', 'model of every request, overriding its line')
    .option('--set <key=value...>', 'field to set in every request, such as temperature=0')
    .option('--endpoint <path>', 'endpoint of every request (default: that of the first line)')
    .option('--wrap', 'treat each line as a request body, such as {"messages": [...]}')
    .addOption(metadataOption)
    .addOption(priorityOption)
    .addHelpText(
      'after',
      `
A file with more than 10,000 requests or 32 MB becomes several batches with one results file.
After an interruption, run the same command again to resume the same batches.`,
    )
    .addHelpText(
      'after',
      examples(
        'in.jsonl -o out.jsonl',
        'in.jsonl --model qwen3-32b --set temperature=0 max_tokens=200 --format csv',
        '- -o - < in.jsonl',
      ),
    )
    .action((input: string, options: Options) => runBatch(cli, input, options));
}

/** Runs a file as one or several batches, writes the results and prints a summary. */
export async function runBatch(cli: Cli, inputPath: string, options: Options): Promise<void> {
  const client = connect(cli, options);
  const format = readFormat(options.format);
  const source = inputPath === '-' ? undefined : existingFile(inputPath, cli.cwd);
  const output = await resolveOutput(cli, source, { ...options, format });
  const copy = join(tmpdir(), `offpeak-${Buffer.from(cli.random.bytes(8)).toString('hex')}.jsonl`);
  const { model, set, endpoint, wrap } = options;
  try {
    const from = source === undefined ? { stdin: cli.terminal.stdin } : { path: source };
    const stopped = new CliError('Stopped.', 'Nothing was sent.', exitCodes.interrupted);
    const input = await interruptible(cli, stopped, async (signal) =>
      readInput(await prepareInput(from, { model, set, endpoint, wrap }, copy, signal), signal),
    );
    // In a single batch the server finds duplicates, together with all other faults.
    if (input.parts.length > 1) await refuseDuplicateIds(input.path, input.parts);
    if (input.requests === 0)
      throw new CliError(`${inputPath === '-' ? 'The input' : inputPath} has no requests.`);
    const filename = source === undefined ? 'stdin.jsonl' : basename(source);
    const unlock = output === null ? undefined : lockOutput(output, showPath(cli, output));
    try {
      await runInput(cli, client, { input, output, format, filename, options });
    } finally {
      unlock?.();
    }
  } finally {
    rmSync(copy, { force: true });
  }
}

interface RunOptions {
  input: InputFile;
  output: string | null;
  format: Format;
  filename: string;
  options: Options;
}

async function runInput(cli: Cli, client: Client, { input, output, format, filename, options }: RunOptions) {
  const { clock, terminal } = cli;
  const json = options.json === true;
  const raw = options.raw === true;
  const run = openRunFile(output, {
    url: client.baseUrl,
    sha256: input.sha256,
    format,
    parts: input.parts.length,
    random: cli.random,
    cwd: cli.cwd,
  });
  const results = await openResults({ output, format, raw, run, client, clock, terminal });
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
    note: (text) => progress.note(text),
    collect: (batch, part) => results.collect(batch, part),
  });
  try {
    const batches = input.parts.length === 1 ? '' : ` as ${input.parts.length} batches`;
    if (!json && run.state.parts.every(({ batch_id: id }) => id === null))
      terminal.note(`Uploading ${filename} (${pluralize(input.requests, 'request')}${batches}) ...`);
    const goOn = output === null ? 'Nothing was started.' : 'Run the same command again to resume.';
    const stopped = new CliError('Stopped.', goOn, exitCodes.interrupted);
    await interruptible(cli, stopped, (signal) => parts.upload(signal));
    const isDone = await waitForEnd(cli, { parts, progress, run, requests: input.requests });
    progress.stop();
    if (!isDone) return;
    if (parts.batches().length === 0) return await giveUp(cli, run, results);
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
      ['cost', costText(whole)],
    ]);
  for (const { code, count, message } of failures) print(`failures  ${count} x ${code}: ${message}`);
}
