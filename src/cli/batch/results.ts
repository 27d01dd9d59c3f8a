import type { Command } from 'commander';
import { sleep } from '../../base/clock.ts';
import type { ResultStream } from '../../core/batch.ts';
import { csvOf, formatOf } from './run/csv.ts';
import { clientCommand, examples, wholeNumber } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { type OutputOptions, withOutput, writeOut } from '../shared/write-out.ts';

interface Options extends ClientOptions, OutputOptions {
  after: number;
  follow?: boolean;
  format: string;
}

const pollMs = 500;

export function batchOutput(cli: Cli): Command {
  return resultsCommand(cli, 'results', 'output', 'print the results of a batch, also while it runs');
}

export function batchErrors(cli: Cli): Command {
  return resultsCommand(cli, 'errors', 'errors', 'print the failed lines of a batch, also while it runs');
}

function resultsCommand(cli: Cli, name: string, stream: ResultStream, description: string): Command {
  const command = clientCommand(name, description)
    .argument('<id>')
    .option('--after <n>', 'only what stands behind line n', wholeNumber('--after', 0, 1e9), 0)
    .option('--follow', 'go on until the batch is done')
    .option('--format <format>', 'jsonl or csv', 'jsonl');
  return withOutput(command)
    .addHelpText('after', examples('batch_0199f3a2 --follow', 'batch_0199f3a2 -o results.jsonl'))
    .action((id: string, options: Options) => {
      const isTable = formatOf(options.format) === 'csv';
      const jsonl = readResults(cli, { id, stream, options });
      return writeOut(isTable ? csvOf(jsonl) : jsonl, options, cli);
    });
}

async function* readResults(
  cli: Cli,
  { id, stream, options }: { id: string; stream: ResultStream; options: Options },
): AsyncGenerator<Uint8Array> {
  const client = connect(cli, options);
  let { after } = options;
  for (;;) {
    const results = await client.batches.results(id, stream, after);
    yield* results.bytes;
    if (options.follow !== true || !results.incomplete) return;
    if (results.lastLine === after) await sleep(cli.clock, pollMs);
    after = results.lastLine;
  }
}
