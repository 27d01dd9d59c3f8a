import { Command, Option } from 'commander';
import type { Client } from '../../client/client.ts';
import type { Page } from '../../client/resources.ts';
import { priorities } from '../../core/limits.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Cli, ClientOptions } from './cli.ts';
import { connect, connectAdmin } from './connect.ts';
import { CliError, type ExitCode } from './exit-codes.ts';
import { nameFlags } from './name-flags.ts';

/** Command that only groups subcommands. */
export function group(name: string, makes: readonly ((cli: Cli) => Command)[]): (cli: Cli) => Command {
  return (cli) => {
    const command = new Command(name);
    for (const make of makes) command.addCommand(make(cli));
    return command;
  };
}

/** Command with the options of all commands that call a server. `isAdmin`: requires an admin key. */
export function clientCommand(name: string, about = '', isAdmin = false): Command {
  const [key, variable] = isAdmin ? ['admin key', 'OFFPEAK_ADMIN_KEY'] : ['API key', 'OFFPEAK_API_KEY'];
  return new Command(name)
    .description(about)
    .option(
      '--url <url>',
      'server (OFFPEAK_URL; default: the one saved by login, else http://127.0.0.1:8080)',
    )
    .option('--key-file <file>', `file that contains the ${key} (default: ${variable})`)
    .option('--key <key>', `the ${key} itself, visible to every user of this machine in the process list`)
    .option('--json', 'print JSON');
}

/** Examples at the end of a command's help. Each line gives the arguments of the command. */
export function examples(...lines: string[]): (context: { command: Command }) => string {
  return ({ command }) => {
    const names: string[] = [];
    for (let each: Command | null = command; each !== null; each = each.parent) names.unshift(each.name());
    return ['', 'Examples:', ...lines.map((line) => `  ${[...names, line].join(' ').trimEnd()}`)].join('\n');
  };
}

interface QueryCommand<Options, T> {
  /** Name and argument, such as `get <id>`. */
  usage: string;
  about: string;
  /** True, for these options, if the command uses the admin key. */
  isAdmin?: boolean | ((options: Options & ClientOptions, cli: Cli) => boolean);
  options?: readonly Option[];
  /** Arguments of the examples. */
  examples: readonly string[];
  ask: (client: Client, argument: string, options: Options & ClientOptions, cli: Cli) => Promise<T>;
  show: (answer: T, terminal: Terminal) => void;
  exitCodeOf?: (answer: T) => ExitCode;
}

/** Command that makes one query and shows the answer. */
export function queryCommand<T, Options = object>(spec: QueryCommand<Options, T>): (cli: Cli) => Command {
  const { usage, about, isAdmin = false, options = [] } = spec;
  const [name = '', ...args] = usage.split(' ');
  return (cli) => {
    const command = clientCommand(name, about, isAdmin === true);
    for (const argument of args) command.argument(argument);
    for (const option of options) command.addOption(option);
    return command.addHelpText('after', examples(...spec.examples)).action(async () => {
      const given = command.opts<Options & ClientOptions>();
      const asAdmin = typeof isAdmin === 'function' ? isAdmin(given, cli) : isAdmin;
      const client = (asAdmin ? connectAdmin : connect)(cli, given);
      const answer = await spec
        .ask(client, command.args[0] ?? '', given, cli)
        .catch((error: unknown) => Promise.reject(nameFlags(error, command.options)));
      if (spec.exitCodeOf !== undefined) cli.exitCode = spec.exitCodeOf(answer);
      printResult(cli, given, answer, spec.show);
    });
  };
}

/** Prints an answer, as JSON with `--json`. */
export function printResult<T>(
  cli: Cli,
  { json }: { json?: boolean },
  answer: T,
  show: (answer: T, terminal: Terminal) => void,
): void {
  if (json === true) cli.terminal.json(answer);
  else show(answer, cli.terminal);
}

/** Printer of a list as a table with these columns. */
export function asTable<T>(columns: Record<string, (item: T) => string>) {
  return (items: readonly T[], terminal: Terminal): void => {
    const rows = items.map((item) => Object.values(columns).map((cell) => cell(item)));
    terminal.table(Object.keys(columns), rows);
  };
}

/** Option `--limit`, the maximum length of a list. */
export function limitOption(usually: number): Option {
  return new Option('-n, --limit <n>', 'maximum number of entries')
    .argParser(wholeNumber('--limit', 1, 1_000_000))
    .default(usually);
}

/** Option `--limit` of a list that is short enough to be shown whole. */
export const wholeListOption = new Option('-n, --limit <n>', 'maximum number of entries (default: all)')
  .argParser(wholeNumber('--limit', 1, 1_000_000))
  .default(Infinity, 'all');

/** All pages of a list, from the entry after `after` on. */
export async function* pagesOf<P extends Page<{ id: string }>>(
  fetchPage: (after: string | undefined) => Promise<P>,
  after?: string,
): AsyncGenerator<P> {
  for (let last = after; ;) {
    const page = await fetchPage(last);
    yield page;
    last = page.data.at(-1)?.id;
    if (!page.has_more || last === undefined) return;
  }
}

/** First `count` items of a list, from as many pages as needed. */
export async function fetchItems<T extends { id: string }>(
  count: number,
  pageSize: number,
  fetchPage: (query: { limit: number; after: string | undefined }) => Promise<Page<T>>,
): Promise<T[]> {
  const found: T[] = [];
  while (found.length < count) {
    const limit = Math.min(pageSize, count - found.length);
    const page = await fetchPage({ limit, after: found.at(-1)?.id });
    found.push(...page.data);
    if (!page.has_more || page.data.length === 0) break;
  }
  return found;
}

/** @throws CliError when all values are undefined; `options` names the flags for the hint */
export function requireChange(changes: Record<string, unknown>, options: string): void {
  if (Object.values(changes).every((value) => value === undefined))
    throw new CliError('Nothing to change.', `Pass ${options}.`);
}

/** Parser of a whole number. */
export function wholeNumber(option: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new CliError(`${option} must be a whole number from ${min} to ${max}, not '${text}'.`);
  };
}

/** Splits `key=value`. */
export function keyValue(option: string, pair: string): [string, string] {
  const at = pair.indexOf('=');
  if (at < 1) throw new CliError(`${option} must be key=value, not '${pair}'.`);
  return [pair.slice(0, at), pair.slice(at + 1)];
}

export const priorityOption = new Option(
  '--priority <n>',
  `0 to 9: batches of your org with a higher priority run first (default: ${priorities.default})`,
).argParser(wholeNumber('--priority', priorities.min, priorities.max));

export const windowOption = new Option(
  '--window <duration>',
  'completion window, one of those that the server offers, such as 1h (default: 24h)',
);

/** Adds a value to those that an option collects. @throws CliError if the key has one already */
export function withEntry<T extends object>(
  option: string,
  before: T,
  key: string,
  value: unknown,
  shown = key,
): T {
  if (Object.hasOwn(before, key)) throw new CliError(`${option} sets ${shown} twice.`);
  return { ...before, [key]: value };
}

/** Option that reads `-m team=search run=7` as `{ team: 'search', run: '7' }`. */
export const metadataOption = new Option('-m, --metadata <key=value...>', 'metadata of the batch').argParser(
  (pair, before: Record<string, string> | undefined) => {
    const [key, value] = keyValue('--metadata', pair);
    return withEntry('--metadata', before ?? {}, key, value);
  },
);
