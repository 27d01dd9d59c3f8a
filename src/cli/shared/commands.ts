import { Command } from 'commander';
import type { Client } from '../../client/client.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Cli, ClientOptions } from './cli.ts';
import { connect, connectAdmin } from './connect.ts';
import { CliError, exitCodes } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';

/** A command that only holds others. */
export function group(name: string, makes: readonly ((cli: Cli) => Command)[]): (cli: Cli) => Command {
  return (cli) => {
    const command = new Command(name);
    for (const make of makes) command.addCommand(make(cli));
    return command;
  };
}

/** A command with the options that all commands which ask a server share. */
export function clientCommand(name: string, about = ''): Command {
  return askingCommand(name, about, 'API key', 'OFFPEAK_API_KEY');
}

/** The same for a command that only an admin key may run. */
export function adminCommand(name: string, about = ''): Command {
  return askingCommand(name, about, 'admin key', 'OFFPEAK_ADMIN_KEY');
}

function askingCommand(name: string, about: string, key: string, variable: string): Command {
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

interface One<T> {
  name: string;
  about: string;
  /** Whether only an admin key may. */
  isAdmin?: boolean;
  /** What the id is called. */
  argument?: string;
  /** An id. */
  example: string;
  ask: (client: Client, id: string) => Promise<T>;
  show: (answer: T, terminal: Terminal) => void;
  /** How the command ends. */
  exitCodeOf?: (answer: T) => ExitCode;
}

/** A command that asks for one thing of what an id names, and shows the answer. */
export function one<T>(what: One<T>): (cli: Cli) => Command {
  const { name, about, isAdmin = false, argument = '<id>' } = what;
  return (cli) =>
    (isAdmin ? adminCommand : clientCommand)(name, about)
      .argument(argument)
      .addHelpText('after', examples(what.example))
      .action(async (id: string, options: ClientOptions) => {
        const client = (isAdmin ? connectAdmin : connect)(cli, options);
        const answer = await what.ask(client, id);
        if (what.exitCodeOf !== undefined) cli.exitCode = what.exitCodeOf(answer);
        tell(cli, options, answer, what.show);
      });
}

/** An answer: as JSON where that is asked for, else as a person reads it. */
export function tell<T>(
  cli: Cli,
  { json }: { json?: boolean },
  answer: T,
  show: (answer: T, terminal: Terminal) => void,
): void {
  if (json === true) cli.terminal.json(answer);
  else show(answer, cli.terminal);
}

/** Many things: as JSON, or as a table with a column each of `columns`. */
export function tellAll<T>(
  cli: Cli,
  options: { json?: boolean },
  found: readonly T[],
  columns: Record<string, (thing: T) => string>,
): void {
  const cells = Object.values(columns);
  const rows = () => found.map((thing) => cells.map((cell) => cell(thing)));
  tell(cli, options, found, (_, terminal) => terminal.table(Object.keys(columns), rows()));
}

/** A whole number of an option. */
export function wholeNumber(option: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new CliError(
      `${option} must be a whole number from ${min} to ${max}, not '${text}'.`,
      undefined,
      exitCodes.usage,
    );
  };
}
