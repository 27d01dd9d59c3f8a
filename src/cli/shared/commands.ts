import { Command, Option } from 'commander';
import type { Client } from '../../client/client.ts';
import type { Page } from '../../client/resources.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Cli, ClientOptions } from './cli.ts';
import { connect, connectAdmin } from './connect.ts';
import { CliError, type ExitCode } from './exit-codes.ts';

/** A command that only holds others. */
export function group(name: string, makes: readonly ((cli: Cli) => Command)[]): (cli: Cli) => Command {
  return (cli) => {
    const command = new Command(name);
    for (const make of makes) command.addCommand(make(cli));
    return command;
  };
}

/**
 * A command with the options that all commands which ask a server share.
 * @param isAdmin whether only an admin key may run it
 */
export function clientCommand(name: string, about = '', isAdmin = false): Command {
  const [key, variable] = isAdmin ? ['admin key', 'OFFPEAK_ADMIN_KEY'] : ['API key', 'OFFPEAK_API_KEY'];
  return new Command(name)
    .description(about)
    .option(
      '--url <url>',
      'the server (OFFPEAK_URL; default what login remembers, else http://127.0.0.1:8080)',
    )
    .option('--key-file <file>', `a file that holds the ${key} (default: ${variable})`)
    .option(
      '--key <key>',
      `the ${key} itself, which everybody on this machine can read in the list of processes`,
    )
    .option('--json', 'print JSON');
}

/** The end of a command's help: how it is called. Each line is what stands behind its name. */
export function examples(...lines: string[]): (context: { command: Command }) => string {
  return ({ command }) => {
    const names: string[] = [];
    for (let each: Command | null = command; each !== null; each = each.parent) names.unshift(each.name());
    return ['', 'Examples:', ...lines.map((line) => `  ${[...names, line].join(' ').trimEnd()}`)].join('\n');
  };
}

interface QueryCommand<Options, T> {
  name: string;
  about: string;
  /** Whether only an admin key may, with these options. */
  isAdmin?: boolean | ((options: Options) => boolean);
  /** What has to stand behind the name, such as `<id>`. */
  argument?: string;
  options?: readonly Option[];
  /** Each is what stands behind the name. */
  examples: readonly string[];
  ask: (client: Client, argument: string, options: Options & ClientOptions, cli: Cli) => Promise<T>;
  show: (answer: T, terminal: Terminal) => void;
  /** How the command ends. */
  exitCodeOf?: (answer: T) => ExitCode;
}

/** A command that asks a server one thing, and shows the answer. */
export function queryCommand<T, Options = object>(what: QueryCommand<Options, T>): (cli: Cli) => Command {
  const { name, about, isAdmin = false, argument, options = [] } = what;
  return (cli) => {
    const command = clientCommand(name, about, isAdmin === true);
    if (argument !== undefined) command.argument(argument);
    for (const option of options) command.addOption(option);
    return command.addHelpText('after', examples(...what.examples)).action(async () => {
      const given = command.opts<Options & ClientOptions>();
      const asAdmin = typeof isAdmin === 'function' ? isAdmin(given) : isAdmin;
      const client = (asAdmin ? connectAdmin : connect)(cli, given);
      const answer = await what.ask(client, command.args[0] ?? '', given, cli);
      if (what.exitCodeOf !== undefined) cli.exitCode = what.exitCodeOf(answer);
      printResult(cli, given, answer, what.show);
    });
  };
}

/** An answer: as JSON where that is asked for, else as a person reads it. */
export function printResult<T>(
  cli: Cli,
  { json }: { json?: boolean },
  answer: T,
  show: (answer: T, terminal: Terminal) => void,
): void {
  if (json === true) cli.terminal.json(answer);
  else show(answer, cli.terminal);
}

/** Shows many things as a table, with a column each of `columns`. */
export function asTable<T>(columns: Record<string, (thing: T) => string>) {
  return (found: readonly T[], terminal: Terminal): void => {
    const cells = Object.values(columns);
    terminal.table(
      Object.keys(columns),
      found.map((thing) => cells.map((cell) => cell(thing))),
    );
  };
}

/** How many things a list has at most. */
export function limitOption(usually: number): Option {
  return new Option('-n, --limit <n>', 'how many at most')
    .argParser(wholeNumber('--limit', 1, 1_000_000))
    .default(usually);
}

/** The first `count` things of a list, over as many pages as that takes. */
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

/** @throws CliError where nothing is said of what a command changes, with the options that say it */
export function requireChange(changes: Record<string, unknown>, options: string): void {
  if (Object.values(changes).every((value) => value === undefined))
    throw new CliError('There is nothing to change.', `Say what: ${options}.`);
}

/** A whole number of an option. */
export function wholeNumber(option: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new CliError(`${option} must be a whole number from ${min} to ${max}, not '${text}'.`);
  };
}

/** The two sides of `key=value`. */
export function keyValue(option: string, pair: string): [string, string] {
  const at = pair.indexOf('=');
  if (at < 1) throw new CliError(`${option} takes key=value, not '${pair}'.`);
  return [pair.slice(0, at), pair.slice(at + 1)];
}

/** `-m team=search run=7` as `{ team: 'search', run: '7' }`. */
export const metadataOption = new Option('-m, --metadata <key=value...>', 'metadata of the batch').argParser(
  (pair, before: Record<string, string> | undefined) => {
    const [key, value] = keyValue('--metadata', pair);
    return { ...before, [key]: value };
  },
);
