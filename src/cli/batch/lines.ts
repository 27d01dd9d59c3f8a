import { type Command, Option } from 'commander';
import type { LinePage, RemoteLine, RemoteLineDetail } from '../../client/resources.ts';
import type { Client, LineFilters } from '../../client/client.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import {
  asTable,
  clientCommand,
  examples,
  limitOption,
  printResult,
  wholeNumber,
} from '../shared/commands.ts';
import { connect, connectAdmin } from '../shared/connect.ts';
import { isoTime } from '../shared/format.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface Options extends ClientOptions {
  limit: number;
  state?: string;
  code?: string;
  customId?: string;
  text?: string;
  sample?: number;
  seed?: number;
}

const maxPage = 500;

/** Lines of a batch, of any org for operators, who see no texts. */
export function batchLines(isOperator = false): (cli: Cli) => Command {
  return (cli) => {
    const about = isOperator
      ? 'list the lines of a batch of any org, without prompts and answers'
      : 'list the lines of a batch, search them, or take a random sample';
    const command = clientCommand('lines', about, isOperator)
      .argument('<id>')
      .addOption(limitOption(100))
      .option('--state <state>', 'only lines that are queued, in_flight, completed or failed')
      .option('--code <code>', 'only lines that failed with this error code')
      .option('--custom-id <custom_id>', 'only the line with this custom_id')
      .addOption(
        new Option('--sample <n>', 'that many random lines').argParser(wholeNumber('--sample', 1, 200)),
      )
      .addOption(
        new Option('--seed <n>', 'seed of the sample: the same one gives the same lines').argParser(
          wholeNumber('--seed', 0, 0xff_ff_ff_ff),
        ),
      );
    if (!isOperator)
      command.option('--text <text>', 'only lines with this text in custom_id, request or answer');
    return command
      .addHelpText('after', examples('batch_0199f3a2 --state failed', 'batch_0199f3a2 --sample 20 --json'))
      .action(async (id: string, options: Options) => {
        const lines = await fetchLines(clientFor(cli, options, isOperator), id, options, isOperator);
        printResult(cli, options, lines, isOperator ? showOperatorLines : showLines);
      });
  };
}

export function batchLine(isOperator = false): (cli: Cli) => Command {
  return (cli) =>
    clientCommand(
      'line',
      isOperator
        ? 'show a line of a batch of any org'
        : 'show a line of a batch, with its request and its answer',
      isOperator,
    )
      .argument('<id>')
      .argument('<line>', 'number of the line from 1 on, or its custom_id')
      .addHelpText('after', examples('batch_0199f3a2 17', 'batch_0199f3a2 request-17 --json'))
      .action(async (id: string, line: string, options: ClientOptions) => {
        const client = clientFor(cli, options, isOperator);
        const found = isOperator ? client.admin.batches.line(id, line) : client.batches.line(id, line);
        printResult(cli, options, await found, showLine);
      });
}

function clientFor(cli: Cli, options: ClientOptions, isOperator: boolean): Client {
  return (isOperator ? connectAdmin : connect)(cli, options);
}

async function fetchLines(
  client: Client,
  id: string,
  { limit, state, code, customId, text, sample, seed }: Options,
  isOperator: boolean,
): Promise<RemoteLine[]> {
  const { lines } = isOperator ? client.admin.batches : client.batches;
  const filters: LineFilters = { state, code, custom_id: customId, q: text, sample, seed };
  const found: RemoteLine[] = [];
  for (let after: number | null = 0; after !== null && found.length < limit;) {
    const page: LinePage = await lines(id, {
      ...filters,
      limit: Math.min(maxPage, limit - found.length),
      after: after === 0 ? undefined : after,
    });
    found.push(...page.data);
    after = page.next_after;
  }
  return found;
}

const columns: Record<string, (line: RemoteLine) => string> = {
  line: ({ line }) => String(line),
  custom_id: ({ custom_id: id }) => id ?? '',
  state: ({ state }) => state,
  code: ({ error }) => error?.code ?? '',
  attempts: ({ attempts }) => attempts?.toString() ?? '',
  ms: ({ duration_ms: ms }) => ms?.toString() ?? '',
  tokens: ({ usage }) => usage?.total_tokens.toString() ?? '',
  cost: ({ cost }) => cost?.amount ?? '',
};
const showLines = asTable<RemoteLine>({ ...columns, answer: ({ preview }) => preview?.output ?? '' });
const showOperatorLines = asTable<RemoteLine>({ ...columns, server: ({ server }) => server ?? '' });

function showLine(line: RemoteLineDetail, terminal: Terminal): void {
  const { error, usage } = line;
  terminal.record([
    ['line', String(line.line)],
    ['custom_id', line.custom_id],
    ['state', line.state],
    ['status', line.status_code?.toString()],
    ['error', error && [error.code, error.message].filter(Boolean).join(': ')],
    ['model', line.model],
    ['tokens', usage && `${usage.input_tokens} in, ${usage.output_tokens} out`],
    ['cost', line.cost?.amount],
    ['finished', line.finished_at === null ? null : isoTime(line.finished_at)],
    ['took', line.duration_ms === null ? null : `${line.duration_ms} ms`],
    ['server', line.server ?? line.replica_id],
    ['attempts', line.attempts?.toString()],
    ...line.failed_attempts.map(({ at, code, duration_ms: ms }): [string, string] => [
      'failed',
      `${isoTime(at)}: ${code} after ${ms} ms`,
    ]),
    ['original', line.original && `line ${line.original.line} of ${line.original.batch_id}`],
    ['request', line.input && JSON.stringify(line.input)],
    ['answer', line.output && JSON.stringify(line.output)],
  ]);
}
