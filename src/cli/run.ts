import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { backup } from './server/backup.ts';
import { batch } from './batch/batch.ts';
import { chat } from './models/chat.ts';
import type { Cli } from './shared/cli.ts';
import { config } from './server/config.ts';
import { demo } from './demo/demo.ts';
import { doctor } from './server/doctor.ts';
import { files } from './files/files.ts';
import { keys } from './access/keys.ts';
import { login, logout } from './access/login.ts';
import { models } from './models/models.ts';
import { orgs } from './access/orgs.ts';
import { reportError } from './shared/report.ts';
import { serve } from './server/serve.ts';
import { webhooks } from './webhooks/webhooks.ts';

/** The whole command line: one line a command. */
export function createProgram(cli: Cli): Command {
  const program = new Command('offpeak')
    .description('A self-hosted inference server whose main job is batch.')
    .version(packageVersion())
    .enablePositionalOptions()
    .showHelpAfterError('Run the command with --help to see how it is used.');
  for (const make of [
    serve,
    demo,
    batch,
    files,
    chat,
    models,
    webhooks,
    orgs,
    keys,
    config,
    doctor,
    backup,
    login,
    logout,
  ])
    program.addCommand(make(cli));
  return harden(program, cli);
}

/** Runs one command and returns its exit code. Nothing is thrown. */
export async function run(argv: string[], cli: Cli): Promise<number> {
  try {
    await createProgram(cli).parseAsync(argv, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    return reportError(error, cli.terminal, argv.includes('--json'));
  }
}

/** Makes every command throw instead of exiting, and write where it is told. */
function harden(command: Command, cli: Cli): Command {
  command.exitOverride().configureOutput({
    writeOut: (text) => void cli.terminal.stdout.write(text),
    writeErr: (text) => void cli.terminal.stderr.write(text),
  });
  for (const child of command.commands) harden(child, cli);
  return command;
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
