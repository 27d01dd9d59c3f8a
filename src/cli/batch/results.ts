import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { sleep } from '../../base/clock.ts';
import type { ResultStream } from '../../core/batch.ts';
import { csvOf, formatOf } from './run/csv.ts';
import { clientCommand, examples, wholeNumber } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { newFile } from '../shared/local-file.ts';
import { writeBytes } from '../terminal/write-bytes.ts';

interface Options extends ClientOptions {
  after: number;
  follow?: boolean;
  format: string;
  output?: string;
  force?: boolean;
}

const pollMs = 500;

export function batchOutput(cli: Cli): Command {
  return resultsCommand(cli, 'results', 'output', 'print the results of a batch, also while it runs');
}

export function batchErrors(cli: Cli): Command {
  return resultsCommand(cli, 'errors', 'errors', 'print the failed lines of a batch, also while it runs');
}

function resultsCommand(cli: Cli, name: string, stream: ResultStream, description: string): Command {
  return clientCommand(name, description)
    .argument('<id>')
    .option('--after <n>', 'only what stands behind line n', wholeNumber('--after', 0, 1e9), 0)
    .option('--follow', 'go on until the batch is done')
    .option('--format <format>', 'jsonl or csv', 'jsonl')
    .option('-o, --output <file>', 'write to a file')
    .option('-f, --force', 'overwrite a file that is there already')
    .addHelpText('after', examples('batch_0199f3a2 --follow', 'batch_0199f3a2 -o results.jsonl'))
    .action(async (id: string, options: Options) => {
      const isTable = formatOf(options.format) === 'csv';
      const jsonl = readResults(cli, { id, stream, options });
      const lines = isTable ? csvOf(jsonl) : jsonl;
      if (options.output === undefined) return writeBytes(lines, cli.terminal);
      const path = await newFile(options.output, cli.cwd, options.force);
      return pipeline(Readable.from(lines), createWriteStream(path));
    });
}

async function* readResults(
  cli: Cli,
  { id, stream, options }: { id: string; stream: ResultStream; options: Options },
): AsyncGenerator<Uint8Array> {
  const client = connect(cli, options);
  let { after } = options;
  for (;;) {
    const results = await client.batches.results(id, stream, { after });
    yield* results.bytes;
    if (options.follow !== true || !results.incomplete) return;
    if (results.lastLine === after) await sleep(cli.clock, pollMs);
    after = results.lastLine;
  }
}
