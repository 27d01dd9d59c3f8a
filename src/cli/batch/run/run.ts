import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Command } from 'commander';
import type { Client } from '../../../client/client.ts';
import { ClientError } from '../../../client/errors.ts';
import type { RemoteBatch } from '../../../client/resources.ts';
import { askAtInterrupt } from './ask.ts';
import { combineBatches } from './combine.ts';
import { pollUntilDone } from '../poll.ts';
import { type Format, readFormat, rawOption } from './csv.ts';
import { lockOutput } from './output-lock.ts';
import { prepareInput } from './prepare-input.ts';
import { createProgress, noProgress, type Progress } from '../progress.ts';
import { type InputFile, readInput, refuseDuplicateIds } from './read-input.ts';
import { openResults, resolveOutput, showPath, type ResultPaths, type Results } from './results.ts';
import { runParts, type PartsRun } from './run-parts.ts';
import { openRunFile, type Collected, type RunFile } from './run-state.ts';
import { costText, exitCodeOf, paintStatus } from '../show-batch.ts';
import { clientCommand, examples, metadataOption } from '../../shared/commands.ts';
import { connect } from '../../shared/connect.ts';
import type { Cli, ClientOptions } from '../../shared/cli.ts';
import { CliError, exitCodes } from '../../shared/exit-codes.ts';
import { existingFile } from '../../shared/local-file.ts';
import { pluralize } from '../../../base/words.ts';
import { interruptible } from '../../shared/signals.ts';

interface Options extends ClientOptions {
  output?: string;
  format: string;
  raw?: boolean;
  force?: boolean;
  metadata?: Record<string, string>;
  model?: string;
  set?: string[];
  endpoint?: string;
  wrap?: boolean;
}

export function batchRun(cli: Cli): Command {
  return clientCommand('run', 'upload a JSONL file, run it as a batch and download the results in its order')
    .argument('<input>', 'the JSONL file, one request a line; - reads it from stdin')
    .option(
      '-o, --output <file>',
      'where the results go; - prints them (default: the input with .output.jsonl at its end)',
    )
    .option('--format <format>', 'of the results: jsonl or csv', 'jsonl')
    .addOption(rawOption())
    .option('-f, --force', 'overwrite results that are there already')
    .option('--model <id>', 'the model of every request, whatever its line says')
    .option('--set <key=value...>', 'a field of every request, such as temperature=0')
    .option('--endpoint <path>', 'what every request calls (default: what the first line says)')
    .option('--wrap', 'the lines are request bodies, such as {"messages": [...]}: make each a batch line')
    .addOption(metadataOption)
    .addHelpText(
      'after',
      `
A file of more than 10,000 requests or 32 MB becomes several batches, whose results are one file.
Run it again after an interruption, and it goes on with the same batches.`,
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

/** Sends a file as one batch or several and collects the results, and says how that went. */
export async function runBatch(cli: Cli, inputPath: string, options: Options): Promise<void> {
  const client = connect(cli, options);
  const format = readFormat(options.format);
  const source = inputPath === '-' ? undefined : existingFile(inputPath, cli.cwd);
  const output = await resolveOutput(cli, source, { ...options, format });
  const copy = temporaryCopy(cli);
  const { model, set, endpoint, wrap } = options;
  try {
    const from = source === undefined ? { stdin: cli.terminal.stdin } : { path: source };
    const stopped = new CliError('Stopped.', 'Nothing was sent.', exitCodes.interrupted);
    const input = await interruptible(cli, stopped, async (signal) =>
      readInput(await prepareInput(from, { model, set, endpoint, wrap }, copy, signal), signal),
    );
    // Of one batch the server tells, with all else that is wrong.
    if (input.parts.length > 1) await refuseDuplicateIds(input.path, input.parts);
    if (input.requests === 0) throw new CliError(`There is no request in ${inputPath}.`);
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

async function runInput(cli: Cli, client: Client, how: RunOptions): Promise<void> {
  const { input, output, format, filename, options } = how;
  const run = openRunFile(output, {
    url: client.baseUrl,
    sha256: input.sha256,
    format,
    parts: input.parts.length,
    random: cli.random,
    cwd: cli.cwd,
  });
  const results = await openResults({
    output,
    format,
    raw: options.raw === true,
    run,
    client,
    clock: cli.clock,
    terminal: cli.terminal,
  });
  const quiet = options.json === true || (output === null && cli.terminal.stderr.isTTY !== true);
  const progress = quiet ? noProgress : createProgress(cli.terminal, cli.clock);
  const parts = runParts({
    client,
    process: cli,
    run,
    input,
    filename,
    endpoint: options.endpoint ?? input.endpoint,
    metadata: options.metadata,
    note: (text) => progress.note(text),
    collect: (batch, part) => results.collect(batch, part),
  });
  try {
    const batches = input.parts.length === 1 ? '' : ` as ${input.parts.length} batches`;
    if (options.json !== true && run.state.parts.every(({ batch_id: id }) => id === null))
      cli.terminal.note(`Uploading ${filename} (${pluralize(input.requests, 'request')}${batches}) ...`);
    const goOn = output === null ? 'Nothing was started.' : 'Run the same command again to go on.';
    const stopped = new CliError('Stopped.', goOn, exitCodes.interrupted);
    await interruptible(cli, stopped, (signal) => parts.upload(signal));
    const isDone = await waitForEnd(cli, { parts, progress, run, requests: input.requests });
    progress.stop();
    if (!isDone) return;
    if (parts.batches().length === 0) return await giveUp(cli, run, results);
    const files = await results.finish();
    run.remove();
    const { collected } = run.state;
    const json = options.json === true;
    conclude(cli, { batches: parts.batches(), input, collected, files, json, output });
  } catch (error) {
    // The server said no to all of it: there is nothing to go on with. An earlier run may have made what this one was not told of.
    const isRefused = error instanceof ClientError && error.status < 500 && error.status !== 429;
    if (isRefused && !run.isResumed && run.state.parts.every(({ batch_id: id }) => id === null)) {
      run.remove();
      await results.discard();
    }
    throw error;
  } finally {
    progress.stop();
    await results.close();
  }
}

/** Cancelled before there was a batch. */
async function giveUp(cli: Cli, run: RunFile, results: Results): Promise<void> {
  run.remove();
  await results.discard();
  cli.terminal.note('Nothing was started.');
  cli.exitCode = exitCodes.batchStopped;
}

interface WaitOptions {
  parts: PartsRun;
  progress: Progress;
  run: RunFile;
  requests: number;
}

/** Waits for the end, or until the person at the keyboard has had enough: then false. */
async function waitForEnd(cli: Cli, job: WaitOptions): Promise<boolean> {
  const { parts, progress, run } = job;
  let stop = new AbortController();
  const release = cli.onInterrupt(() => stop.abort());
  let isDone = false;
  const ask = async () => {
    isDone = await parts.step();
    const seen = parts.batches();
    if (seen.length > 0) progress.update(combineBatches(seen, job.requests));
    return isDone;
  };
  try {
    for (;;) {
      await pollUntilDone(ask, {
        clock: cli.clock,
        note: (text) => progress.note(text),
        signal: stop.signal,
      });
      if (isDone) return true;
      progress.stop();
      const choice = await askAtInterrupt(cli.terminal);
      stop = new AbortController();
      if (choice === 'cancel') await parts.cancel();
      if (choice !== 'leave') continue;
      showHowToResume(cli, parts.batches(), run);
      cli.exitCode = exitCodes.interrupted;
      return false;
    }
  } finally {
    release();
  }
}

function showHowToResume(cli: Cli, batches: RemoteBatch[], { path }: RunFile): void {
  const { terminal } = cli;
  if (batches.length === 0 && path === null) return;
  const ids = batches.map(({ id }) => id).join(', ');
  const goes = batches.length === 1 ? 'goes' : 'go';
  if (path === null) {
    terminal.note(`${ids} ${goes} on running: ${terminal.self.command} batch results <id>`);
    return;
  }
  terminal.note(`${ids} ${goes} on running. Run the same command again to collect the results`);
  const last = batches.at(-1)?.id ?? '<id>';
  terminal.note(
    `(${showPath(cli, path)} remembers it), or stop it: ${terminal.self.command} batch cancel ${last}`,
  );
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
  cli.exitCode =
    [exitCodes.batchFailed, exitCodes.batchStopped, exitCodes.linesFailed].find((code) =>
      codes.includes(code),
    ) ?? (batches.length < input.parts.length ? exitCodes.batchStopped : exitCodes.ok);
  const { completed, failures } = collected;
  const failed = failures.reduce((sum, { count }) => sum + count, 0);
  if (json) {
    const [only] = batches;
    return terminal.json(batches.length === 1 ? { ...only, files } : { ...whole, id: null, batches, files });
  }
  // Results on stdout are followed by nothing.
  const tell = (text: string) => (output === null ? terminal.note(text) : terminal.print(text));
  const name = batches.length === 1 ? whole.id : pluralize(batches.length, 'batch');
  tell(`${name} ${paintStatus(whole, terminal)}: ${completed} completed, ${failed} failed`);
  const unsent = input.requests - completed - failed;
  if (unsent > 0) tell(`${pluralize(unsent, 'request')} ${unsent === 1 ? 'has' : 'have'} no result.`);
  if (output !== null)
    terminal.record([
      ['results', files.output && showPath(cli, files.output)],
      ['errors', files.errors && showPath(cli, files.errors)],
      ['cost', costText(whole)],
    ]);
  for (const { code, count, message } of failures) tell(`failures  ${count} x ${code}: ${message}`);
}

function temporaryCopy({ random }: Cli): string {
  return join(tmpdir(), `offpeak-${Buffer.from(random.bytes(8)).toString('hex')}.jsonl`);
}
