import type { Command } from 'commander';
import { splitLines } from '../../base/byte-lines.ts';
import { sleep } from '../../base/clock.ts';
import type { ResultStream } from '../../core/batch.ts';
import { createOutageTimer } from '../shared/outage.ts';
import { toCsv, readFormat, rawOption } from './run/csv.ts';
import { clientCommand, examples, wholeNumber } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { type OutputOptions, withOutput, writeOut } from '../storage/write-out.ts';

interface Options extends ClientOptions, OutputOptions {
  after: number;
  follow?: boolean;
  format: string;
  raw?: boolean;
}

const pollMs = 500;
const newline = Buffer.from('\n');

export const batchOutput = (cli: Cli) =>
  resultsCommand(cli, 'results', 'output', 'print the results of a batch, also while it runs');
export const batchErrors = (cli: Cli) =>
  resultsCommand(cli, 'errors', 'errors', 'print the failed lines of a batch, also while it runs');

function resultsCommand(cli: Cli, name: string, stream: ResultStream, description: string): Command {
  const command = clientCommand(name, description)
    .argument('<id>')
    .option('--after <n>', 'skip the first n lines', wholeNumber('--after', 0, 1e9), 0)
    .option('--follow', 'continue until the batch ends')
    .option('--format <format>', 'jsonl or csv', 'jsonl')
    .addOption(rawOption());
  return withOutput(command)
    .addHelpText('after', examples('batch_0199f3a2 --follow', 'batch_0199f3a2 -o results.jsonl'))
    .action((id: string, options: Options) => {
      const isTable = readFormat(options.format) === 'csv';
      const jsonl = readResults(cli, { id, stream, options });
      return writeOut(isTable ? toCsv(jsonl, options.raw === true) : jsonl, options, cli);
    });
}

async function* readResults(
  cli: Cli,
  { id, stream, options }: { id: string; stream: ResultStream; options: Options },
): AsyncGenerator<Uint8Array> {
  const { clock, terminal } = cli;
  const client = connect(cli, options);
  let { after } = options;
  if (options.follow !== true) return yield* (await client.batches.results(id, stream, after)).bytes;
  const outage = createOutageTimer({ clock, note: (text) => terminal.note(text) });
  for (;;) {
    const from = after;
    try {
      const results = await client.batches.results(id, stream, after);
      // After a broken connection, reading resumes after the last complete line.
      for await (const { bytes, whole } of splitLines(results.bytes)) {
        if (!whole) break;
        yield Buffer.concat([bytes, newline]);
        after++;
        outage.answered();
      }
      outage.answered();
      if (!results.incomplete && after >= results.lastLine) return;
    } catch (error) {
      outage.failed(error);
    }
    if (after === from) await sleep(clock, pollMs);
  }
}
