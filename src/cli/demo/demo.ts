import { copyFileSync, existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Command } from 'commander';
import { formatDuration } from '../../base/duration.ts';
import { packageFolder } from '../../base/program.ts';
import { createClient, type Client } from '../../client/client.ts';
import type { RemoteBatch } from '../../client/resources.ts';
import { loadConfig } from '../../config.ts';
import { exitCodeOf } from '../batch/show-batch.ts';
import { runLines } from '../batch/run/run-lines.ts';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { checkResults, readLines, type Sample } from './check-results.ts';
import { showAnswers, showNextSteps, showTotals } from './summary.ts';
import { CliError, exitCodes } from '../shared/exit-codes.ts';
import { firstSignal } from '../shared/signals.ts';

export function demo(cli: Cli): Command {
  return new Command('demo')
    .option('--keep', 'keep the server running afterwards, until Ctrl-C')
    .addHelpText('after', examples('', '--keep'))
    .action((options: { keep?: boolean }) => runDemo(cli, options.keep === true));
}

/** Starts a server, runs the sample as a batch and shows the results. */
async function runDemo(cli: Cli, keep: boolean): Promise<void> {
  const { terminal } = cli;
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-demo-'));
  const flags = { host: '127.0.0.1', port: '0', data: join(folder, 'data'), logLevel: 'error' };
  // Ignores the configuration of this machine, so that the demo is the same everywhere.
  const config = loadConfig({ flags, env: {}, cwd: folder });
  const { createApp } = await import('../../app.ts');
  const app = await createApp(config);
  const signal = firstSignal();
  terminal.note(`Starting Offpeak with its built-in model. Data folder: ${folder} ...`);
  const interrupted = signal.then((): never => {
    throw new CliError('Stopped.', `The data is in ${folder}.`, exitCodes.interrupted);
  });
  try {
    const work = app.start().then(() => {
      const key = app.firstKeys?.key ?? '';
      const client = createClient({ baseUrl: app.url, apiKey: key, fetch: cli.fetch });
      return showDemo(cli, client, { folder, key, keep });
    });
    await Promise.race([work, interrupted]);
    if (!keep) return;
    terminal.note('\nThe server keeps running. Press Ctrl-C to stop it.');
    await signal;
  } finally {
    interrupted.catch(() => {});
    await app.stop();
  }
}

async function showDemo(
  cli: Cli,
  client: Client,
  { folder, key, keep }: { folder: string; key: string; keep: boolean },
): Promise<void> {
  const { terminal, clock } = cli;
  const began = clock.monotonic();
  const results = join(folder, 'results.jsonl');
  const batch = await runSample(cli, client, { name: 'demo', folder, key, results });
  const took = clock.monotonic() - began;
  const sample: Sample = existsSync(results)
    ? checkResults(join(folder, 'demo.jsonl'), results)
    : { answered: [], missing: ['all'] };
  terminal.print('');
  showAnswers(sample, terminal);
  terminal.print('');
  showTotals(batch, sample, formatDuration(took), terminal);
  terminal.print('');
  terminal.record(await runEmbeddings(cli, client, { folder, key }));
  const url = keep ? client.baseUrl : 'http://127.0.0.1:8080';
  showNextSteps({ folder, url, key, running: keep }, terminal);
  conclude(cli, batch, sample);
}

/** Runs a sample like `batch run`, without its summary. */
async function runSample(
  cli: Cli,
  client: Client,
  { name, folder, key, results }: Record<'name' | 'folder' | 'key' | 'results', string>,
): Promise<RemoteBatch> {
  const input = join(folder, `${name}.jsonl`);
  copyFileSync(join(packageFolder, 'examples', basename(input)), input);
  const terminal = { ...cli.terminal, print() {}, record() {} };
  // The server runs in this process, and Ctrl-C ends the demo.
  const here = { ...cli, terminal, ownsProcess: false, onInterrupt: () => () => {} };
  await runLines(here, input, { url: client.baseUrl, key, output: results, format: 'jsonl' });
  const { data } = await client.batches.list({ limit: 1 });
  return data[0]!;
}

/** Runs the embeddings sample and returns its summary. */
async function runEmbeddings(
  cli: Cli,
  client: Client,
  { folder, key }: { folder: string; key: string },
): Promise<[string, string][]> {
  const results = join(folder, 'embeddings.jsonl');
  const batch = await runSample(cli, client, { name: 'demo-embeddings', folder, key, results });
  const { completed, total } = batch.request_counts;
  if (completed < total) cli.exitCode = exitCodes.linesFailed;
  const vectors = completed > 0 ? readVectors(results) : [];
  const sizes = new Set(vectors.map((vector) => vector.length));
  return [
    ['embeddings', `${vectors.length} of ${total} texts as vectors of ${[...sizes].join(', ')} numbers`],
  ];
}

function readVectors(path: string): number[][] {
  const lines = readLines<{ response: { body: { data: { embedding: number[] }[] } } }>(path);
  return lines.map(({ response }) => response.body.data[0]?.embedding ?? []);
}

/** Prints problems and sets the exit code: 0 only if every answer came back and is valid. */
function conclude(cli: Cli, batch: RemoteBatch, sample: Sample): void {
  const { terminal } = cli;
  const broken = sample.answered.filter((one) => one.problem !== null);
  for (const { customId, problem: why } of broken) terminal.note(`${customId}: ${why ?? ''}`);
  if (sample.missing.length > 0) terminal.note(`No result for: ${sample.missing.join(', ')}`);
  const good = broken.length === 0 && sample.missing.length === 0;
  if (!good) cli.exitCode = exitCodes.linesFailed;
  if (exitCodeOf(batch) !== exitCodes.ok) cli.exitCode = exitCodeOf(batch);
}
