import { Command } from 'commander';
import { packageVersion } from '../base/program.ts';
import type { Cli } from './shared/cli.ts';
import { reportError } from './shared/report.ts';

type Make = (cli: Cli) => Command;

/** Every command: what the overview says of it, and where it stands. Only the one that is asked for is loaded. */
const commands: Record<string, readonly [about: string, load: () => Promise<Make>]> = {
  serve: ['start the server', async () => (await import('./server/serve.ts')).serve],
  demo: [
    'run a sample of 100 requests as a batch, from start to finish, with the built-in model',
    async () => (await import('./demo/demo.ts')).demo,
  ],
  batch: ['run batches and collect their results', async () => (await import('./batch/batch.ts')).batch],
  files: ['upload, list and read files', async () => (await import('./files/files.ts')).files],
  chat: ['ask a model, once or in a conversation', async () => (await import('./models/chat.ts')).chat],
  models: [
    'the models of a server, and model files on this machine',
    async () => (await import('./models/models.ts')).models,
  ],
  webhooks: [
    'endpoints of yours that are told when a batch ends',
    async () => (await import('./webhooks/webhooks.ts')).webhooks,
  ],
  orgs: ['the orgs of a server (with an admin key)', async () => (await import('./access/orgs.ts')).orgs],
  keys: ['the API keys of a server (with an admin key)', async () => (await import('./access/keys.ts')).keys],
  usage: ['what was used, and what it cost', async () => (await import('./access/usage.ts')).usage],
  config: ['the configuration of a server', async () => (await import('./server/config.ts')).config],
  doctor: [
    'ask every configured server what it can do',
    async () => (await import('./server/doctor.ts')).doctor,
  ],
  backup: [
    'copy the database and the files of a data folder, also while its server runs',
    async () => (await import('./server/backup.ts')).backup,
  ],
  login: [
    'remember a server and a key for the commands of this user',
    async () => (await import('./access/login.ts')).login,
  ],
  logout: ['forget what login remembered', async () => (await import('./access/login.ts')).logout],
  completion: [
    'print what bash, zsh or fish need to complete these commands',
    async () => (await import('./completion/completion.ts')).completion,
  ],
};

/**
 * The command line.
 * @param argv what is asked: the commands that it does not name are only listed; absent, all are there
 */
export async function createProgram(cli: Cli, argv?: readonly string[]): Promise<Command> {
  const program = new Command('offpeak')
    .description('A self-hosted inference server whose main job is batch.')
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

/** Makes every command throw instead of exiting, and write where it is told. What is wrong is told by `reportError`. */
function captureOutput(command: Command, cli: Cli): Command {
  command.exitOverride().configureOutput({
    writeOut: (text) => void cli.terminal.stdout.write(text),
    writeErr: (text) => void cli.terminal.stderr.write(text),
    outputError: () => {},
  });
  for (const child of command.commands) captureOutput(child, cli);
  return command;
}
