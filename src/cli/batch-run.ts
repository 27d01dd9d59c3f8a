import { existsSync } from 'node:fs';
import { basename, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Client } from '../client/client.ts';
import { ClientError } from '../client/errors.ts';
import type { RemoteBatch } from '../client/resources.ts';
import { isFinal } from '../core/batch.ts';
import { askAtInterrupt } from './batch/ask.ts';
import { downloadOrdered } from './batch/download.ts';
import { follow } from './batch/follow.ts';
import { parseMetadata } from './batch/metadata.ts';
import { exitCodeOf } from './batch/outcome.ts';
import { createProgress, noProgress } from './batch/progress.ts';
import { readInput } from './batch/read-input.ts';
import type { InputFile } from './batch/read-input.ts';
import { openRunFile } from './batch/run-state.ts';
import type { RunFile } from './batch/run-state.ts';
import { costText, paintStatus } from './batch/show-batch.ts';
import { clientCommand, connect } from './cli.ts';
import type { Cli, ClientOptions } from './cli.ts';
import { CliError, exitCodes } from './exit-codes.ts';
import { existingFile, openBlob } from './local-file.ts';

interface Options extends ClientOptions {
  output?: string;
  force?: boolean;
  metadata?: string[];
}

export function batchRun(cli: Cli): Command {
  return clientCommand('run', 'upload a JSONL file, run it as a batch and download the results in its order')
    .argument('<input>', 'the JSONL file, one request a line')
    .option('-o, --output <file>', 'where the results go (default: the input with .output.jsonl at its end)')
    .option('-f, --force', 'overwrite results that are there already')
    .option('-m, --metadata <key=value...>', 'metadata of the batch')
    .addHelpText('after', '\nRun it again after an interruption, and it goes on with the same batch.')
    .action((input: string, options: Options) => runBatch(cli, input, options));
}

async function runBatch(cli: Cli, inputPath: string, options: Options): Promise<void> {
  const client = connect(cli, options);
  const metadata = parseMetadata(options.metadata);
  const path = existingFile(inputPath, cli.cwd);
  const output = resolve(cli.cwd, options.output ?? withSuffix(path, 'output'));
  if (output === path)
    throw new CliError('The results would overwrite the input.', 'Choose another file with -o.');
  if (existsSync(output) && options.force !== true && !existsSync(`${output}.offpeak.json`))
    throw new CliError(
      `${shown(cli, output)} is there already.`,
      'Pass --force to overwrite it, or another -o.',
    );
  const input = await readInput(path);
  const run = openRunFile(output, {
    url: client.baseUrl,
    sha256: input.sha256,
    random: cli.random,
    cwd: cli.cwd,
  });
  const started = await resumeOrStart(cli, client, { run, input, metadata });
  const finished = await wait(cli, client, { started, run, quiet: options.json === true });
  if (finished === undefined) return;
  await collect(cli, client, { batch: finished, run, input, output, json: options.json === true });
}

interface Start {
  run: RunFile;
  input: InputFile;
  metadata: Record<string, unknown> | undefined;
}

async function resumeOrStart(cli: Cli, client: Client, start: Start): Promise<RemoteBatch> {
  const { run } = start;
  const before = run.state.batch_id;
  if (before === null) return create(cli, client, start);
  try {
    const batch = await client.batches.get(before);
    cli.terminal.note(`Going on with ${batch.id}.`);
    return batch;
  } catch (error) {
    if (!(error instanceof ClientError) || error.status !== 404) throw error;
    cli.terminal.note(`${before} is gone; starting anew.`);
    run.restart();
    return create(cli, client, start);
  }
}

async function create(cli: Cli, client: Client, { run, input, metadata }: Start): Promise<RemoteBatch> {
  const { token } = run.state;
  cli.terminal.note(`Uploading ${basename(input.path)} (${input.customIds.length} requests) ...`);
  try {
    const content = await openBlob(input.path);
    const filename = basename(input.path);
    const file = await client.files.upload({ content, filename, idempotencyKey: `${token}-file` });
    const { endpoint } = input;
    const idempotencyKey = `${token}-batch`;
    const batch = await client.batches.create({ endpoint, inputFileId: file.id, metadata, idempotencyKey });
    run.remember(batch.id);
    cli.terminal.note(`Created ${batch.id}.`);
    return batch;
  } catch (error) {
    // The server said no: there is nothing to go on with.
    if (error instanceof ClientError && error.status < 500 && error.status !== 429) run.remove();
    throw error;
  }
}

/** Waits for the end, or until the person at the keyboard has had enough: then undefined. */
async function wait(
  cli: Cli,
  client: Client,
  { started, run, quiet }: { started: RemoteBatch; run: RunFile; quiet: boolean },
): Promise<RemoteBatch | undefined> {
  const progress = quiet ? noProgress : createProgress(cli.terminal, cli.clock);
  let batch = started;
  let stop = new AbortController();
  const release = cli.onInterrupt(() => stop.abort());
  try {
    for (;;) {
      batch = await follow(batch, { client, clock: cli.clock, progress, signal: stop.signal });
      progress.stop();
      if (isFinal(batch.status)) return batch;
      const choice = await askAtInterrupt(cli.terminal);
      stop = new AbortController();
      if (choice === 'cancel') await client.batches.cancel(started.id);
      if (choice !== 'leave') continue;
      cli.terminal.note(`${started.id} goes on running. Run the same command again to collect its results`);
      cli.terminal.note(
        `(${shown(cli, run.path)} remembers it), or stop it: offpeak batch cancel ${started.id}`,
      );
      cli.exitCode = exitCodes.interrupted;
      return undefined;
    }
  } finally {
    progress.stop();
    release();
  }
}

interface Collecting {
  batch: RemoteBatch;
  run: RunFile;
  input: InputFile;
  output: string;
  json: boolean;
}

async function collect(
  cli: Cli,
  client: Client,
  { batch, run, input, output, json }: Collecting,
): Promise<void> {
  const { terminal, clock } = cli;
  const from = { client, clock, batchId: batch.id };
  const errorsPath = withSuffix(output, 'errors');
  const completed = await downloadOrdered({ ...from, stream: 'output' }, output, input.customIds);
  const failed = await downloadOrdered({ ...from, stream: 'errors' }, errorsPath, input.customIds);
  run.remove();
  cli.exitCode = exitCodeOf(batch);
  const files = { output: completed > 0 ? output : null, errors: failed > 0 ? errorsPath : null };
  if (json) return terminal.json({ ...batch, files });
  terminal.print(`${batch.id} ${paintStatus(batch, terminal)}: ${completed} completed, ${failed} failed`);
  terminal.record([
    ['results', files.output && shown(cli, files.output)],
    ['errors', files.errors && shown(cli, files.errors)],
    ['cost', costText(batch)],
  ]);
  for (const { code, count } of batch.error_summary ?? [])
    terminal.record([['failures', `${count} x ${code}`]]);
}

/** `a/out.jsonl` as `a/out.errors.jsonl`. */
function withSuffix(path: string, suffix: string): string {
  return `${path.replace(/\.jsonl$/, '')}.${suffix}.jsonl`;
}

function shown(cli: Cli, path: string): string {
  const short = relative(cli.cwd, path);
  return short === '' || short.startsWith('..') ? path : short;
}
