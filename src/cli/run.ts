import { Command } from 'commander';
import { packageVersion } from '../base/program.ts';
import type { Cli } from './shared/cli.ts';
import { reportError } from './shared/report.ts';

type Make = (cli: Cli) => Command;

/** All commands with their descriptions. Only the command that runs is loaded. */
const commands: Record<string, readonly [about: string, load: () => Promise<Make>]> = {
  serve: ['start the server', async () => (await import('./server/serve.ts')).serve],
  demo: [
    'run a sample batch of 100 requests with the built-in model',
    async () => (await import('./demo/demo.ts')).demo,
  ],
  batch: ['run batches and collect their results', async () => (await import('./batch/batch.ts')).batch],
  files: ['upload, list and read files', async () => (await import('./files/files.ts')).files],
  chat: [
    'ask a model a question, or start a conversation',
    async () => (await import('./models/chat.ts')).chat,
  ],
  models: [
    'manage the models of a server, and model files on this machine',
    async () => (await import('./models/models.ts')).models,
  ],
  webhooks: [
    'manage endpoints that are notified when a batch ends',
    async () => (await import('./webhooks/webhooks.ts')).webhooks,
  ],
  orgs: ['manage the orgs of a server (admin key)', async () => (await import('./access/orgs.ts')).orgs],
  keys: ['manage the API keys of a server (admin key)', async () => (await import('./access/keys.ts')).keys],
  usage: ['show usage and cost', async () => (await import('./access/usage.ts')).usage],
  config: ['check the configuration of a server', async () => (await import('./server/config.ts')).config],
  doctor: [
    'probe every configured server and report what it supports',
    async () => (await import('./server/doctor.ts')).doctor,
  ],
  backup: [
    'back up the database and the files, also while the server runs',
    async () => (await import('./server/backup.ts')).backup,
  ],
  login: [
    'save a server and an API key for later commands',
    async () => (await import('./access/login.ts')).login,
  ],
  logout: ['delete the saved server and key', async () => (await import('./access/login.ts')).logout],
  completion: [
    'print a completion script for bash, zsh or fish',
    async () => (await import('./completion/completion.ts')).completion,
  ],
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
    const command = isNeeded ? (await load())(cli) : new Command(name);
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
    return reportError(error, cli.terminal, argv.includes('--json'));
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
