import { Command } from 'commander';
import { packageVersion } from '../base/program.ts';
import type { Cli } from './shared/cli.ts';
import { reportError } from './shared/report.ts';

type Exports = Record<string, (cli: Cli) => Command>;

/** All commands: descriptions, and modules that export the command under its name. Only the command that runs is loaded. */
const commands: Record<string, readonly [about: string, load: () => Promise<object>]> = {
  serve: ['start the server', () => import('./server/serve.ts')],
  demo: ['run a sample batch of 100 requests with the built-in model', () => import('./demo/demo.ts')],
  batch: ['run batches and collect their results', () => import('./batch/batch.ts')],
  files: ['upload, list and read files', () => import('./files/files.ts')],
  chat: ['ask a model a question, or start a conversation', () => import('./models/chat.ts')],
  models: [
    'manage the models of a server, and model files on this machine',
    () => import('./models/models.ts'),
  ],
  engine: [
    'install the builds of the embedded engine for graphics cards',
    () => import('./models/engine.ts'),
  ],
  webhooks: ['manage endpoints that are notified when a batch ends', () => import('./webhooks/webhooks.ts')],
  admin: [
    'watch and control the batches and servers of all orgs (admin key)',
    () => import('./admin/admin.ts'),
  ],
  orgs: ['manage the orgs of a server (admin key)', () => import('./access/orgs.ts')],
  keys: ['manage the API keys of a server (admin key)', () => import('./access/keys.ts')],
  audit: ['show and verify the log of administrative changes (admin key)', () => import('./access/audit.ts')],
  secrets: ['seal stored webhook secrets with a new key (admin key)', () => import('./access/secrets.ts')],
  usage: ['show usage and cost', () => import('./access/usage.ts')],
  limits: ['show limits, and how much of each is used', () => import('./access/limits.ts')],
  config: ['check the configuration of a server', () => import('./server/config.ts')],
  doctor: ['probe every configured server and report what it supports', () => import('./server/doctor.ts')],
  backup: [
    'back up the database and the files, also while the server runs',
    () => import('./server/backup.ts'),
  ],
  migrate: [
    'migrate the tables of a Postgres, before new servers start',
    () => import('./server/migrate.ts'),
  ],
  login: ['save a server and an API key for later commands', () => import('./access/login.ts')],
  logout: ['delete the saved server and key', () => import('./access/login.ts')],
  completion: ['print a completion script for bash, zsh or fish', () => import('./completion/completion.ts')],
};

/** Command line. Loads only the commands that `argv` names, or all of them without it. */
export async function createProgram(cli: Cli, argv?: readonly string[]): Promise<Command> {
  const program = new Command('offpeak')
    .description('A self-hosted server for batch inference.')
    .version(packageVersion())
    .enablePositionalOptions();
  const needsAll = argv === undefined || argv[0] === 'completion';
  for (const [name, [about, load]] of Object.entries(commands)) {
    const isNeeded = needsAll || argv.slice(0, 2).includes(name);
    const command = isNeeded ? ((await load()) as Exports)[name]!(cli) : new Command(name);
    program.addCommand(command.description(about));
  }
  return captureOutput(program, cli);
}

/** Runs one command and returns its exit code. Nothing is thrown. */
export async function run(argv: string[], cli: Cli): Promise<number> {
  try {
    const program = await createProgram(cli, argv);
    await program.parseAsync(argv, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    return reportError(error, cli, argv.includes('--json'));
  }
}

/** Makes commands throw instead of exiting, and write to the terminal of `cli`. `reportError` prints their errors. */
function captureOutput(command: Command, cli: Cli): Command {
  command.exitOverride().configureOutput({
    writeOut: (text) => void cli.terminal.stdout.write(text),
    writeErr: (text) => void cli.terminal.stderr.write(text),
    outputError: () => {},
  });
  for (const child of command.commands) captureOutput(child, cli);
  return command;
}
