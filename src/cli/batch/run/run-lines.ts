import { rmSync } from 'node:fs';
import type { Client } from '../../../client/client.ts';
import type { Cli } from '../../shared/cli.ts';
import { connect } from '../../shared/connect.ts';
import { CliError, exitCodes } from '../../shared/exit-codes.ts';
import { showPath } from '../../shared/local-file.ts';
import { interruptible } from '../../shared/signals.ts';
import { temporaryPath } from '../../storage/local-input.ts';
import { type Format, readFormat } from './csv.ts';
import { showInputEstimate } from './estimate.ts';
import { lockOutput, type Output, resolveOutput } from './output.ts';
import { prepareInput } from './prepare-input.ts';
import { readInput, refuseDuplicateIds } from './read-input.ts';
import { openResults } from './results.ts';
import { runInput } from './run-input.ts';
import { type RunOptions, tableOnly } from './run-options.ts';
import { openSource, type RunSource } from './run-source.ts';
import { storeResults } from './store-results.ts';

/** Runs a file of batch lines and writes their results in its order. */
export async function runLines(cli: Cli, inputPath: string, options: RunOptions): Promise<void> {
  const client = connect(cli, options);
  const format = readFormat(options.format ?? 'jsonl');
  const wrong = tableOnly.find((name) => options[name] !== undefined);
  if (wrong !== undefined)
    throw new CliError(
      `--${dashed(wrong)} applies to tables.`,
      'Pass --prompt to ask for each row of a table.',
    );
  const source = await openSource(cli, inputPath, options);
  let output: Output | null = null;
  try {
    if (options.dryRun !== true)
      output = await resolveOutput(cli, source.place, {
        output: options.output,
        force: options.force,
        format,
        // CSV has no file for failed lines.
        hasErrors: format !== 'csv',
      });
    await runSource(cli, client, source, { output, format, options });
  } finally {
    source.close(output);
  }
}

async function runSource(
  cli: Cli,
  client: Client,
  source: RunSource,
  { output, format, options }: { output: Output | null; format: Format; options: RunOptions },
): Promise<void> {
  const copy = `${temporaryPath(cli)}.jsonl`;
  const { model, set, endpoint, wrap } = options;
  const { path, place } = source;
  try {
    const from = path === undefined ? { stdin: cli.terminal.stdin } : { path };
    const stopped = new CliError('Stopped.', 'Nothing was sent.', exitCodes.interrupted);
    const input = await interruptible(cli, stopped, async (signal) =>
      readInput(await prepareInput(from, { model, set, endpoint, wrap }, copy, signal), signal),
    );
    // In a single batch the server finds duplicates, together with all other faults.
    if (input.parts.length > 1) await refuseDuplicateIds(input);
    if (input.requests === 0)
      throw new CliError(`${place === undefined ? 'The input' : showPath(cli, place)} has no requests.`);
    if (options.dryRun === true) return await showInputEstimate(cli, client, input, options);
    const unlock = output === null ? undefined : lockOutput(output);
    const { clock, terminal } = cli;
    const raw = options.raw === true;
    const deps = {
      output: output?.path ?? null,
      format,
      raw,
      inputPath: input.path,
      client,
      clock,
      terminal,
    };
    try {
      await runInput(cli, client, {
        input,
        output: deps.output,
        format,
        filename: path === undefined ? 'stdin.jsonl' : source.name,
        options,
        openResults: async (run) => storeResults(cli, output, await openResults({ ...deps, run })),
      });
    } finally {
      unlock?.();
    }
  } finally {
    rmSync(copy, { force: true });
  }
}

const dashed = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
