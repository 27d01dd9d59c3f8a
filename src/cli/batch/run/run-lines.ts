import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Cli } from '../../shared/cli.ts';
import { connect } from '../../shared/connect.ts';
import { CliError, exitCodes } from '../../shared/exit-codes.ts';
import { existingFile, showPath } from '../../shared/local-file.ts';
import { interruptible } from '../../shared/signals.ts';
import { readFormat } from './csv.ts';
import { showInputEstimate } from './estimate.ts';
import { lockOutput, resolveOutput } from './output.ts';
import { prepareInput } from './prepare-input.ts';
import { readInput, refuseDuplicateIds } from './read-input.ts';
import { openResults } from './results.ts';
import { runInput } from './run-input.ts';
import { type RunOptions, tableOnly } from './run-options.ts';

/** Runs a file of batch lines and writes their results in its order. */
export async function runLines(cli: Cli, inputPath: string, options: RunOptions): Promise<void> {
  const client = connect(cli, options);
  const format = readFormat(options.format ?? 'jsonl');
  const source = inputPath === '-' ? undefined : existingFile(inputPath, cli.cwd);
  const wrong = tableOnly.find((name) => options[name] !== undefined);
  if (wrong !== undefined)
    throw new CliError(
      `--${dashed(wrong)} applies to tables.`,
      'Pass --prompt to ask for each row of a table.',
    );
  const output =
    options.dryRun === true
      ? null
      : await resolveOutput(cli, source, {
          output: options.output,
          force: options.force,
          format,
          // CSV has no file for failed lines.
          hasErrors: format !== 'csv',
        });
  const copy = join(tmpdir(), `offpeak-${Buffer.from(cli.random.bytes(8)).toString('hex')}.jsonl`);
  const { model, set, endpoint, wrap } = options;
  try {
    const from = source === undefined ? { stdin: cli.terminal.stdin } : { path: source };
    const stopped = new CliError('Stopped.', 'Nothing was sent.', exitCodes.interrupted);
    const input = await interruptible(cli, stopped, async (signal) =>
      readInput(await prepareInput(from, { model, set, endpoint, wrap }, copy, signal), signal),
    );
    // In a single batch the server finds duplicates, together with all other faults.
    if (input.parts.length > 1) await refuseDuplicateIds(input);
    if (input.requests === 0)
      throw new CliError(`${inputPath === '-' ? 'The input' : inputPath} has no requests.`);
    if (options.dryRun === true) return await showInputEstimate(cli, client, input, options);
    const filename = source === undefined ? 'stdin.jsonl' : basename(source);
    const unlock = output === null ? undefined : lockOutput(output, showPath(cli, output));
    const { clock, terminal } = cli;
    const raw = options.raw === true;
    try {
      await runInput(cli, client, {
        input,
        output,
        format,
        filename,
        options,
        openResults: (run) =>
          openResults({ output, format, raw, run, inputPath: input.path, client, clock, terminal }),
      });
    } finally {
      unlock?.();
    }
  } finally {
    rmSync(copy, { force: true });
  }
}

const dashed = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
