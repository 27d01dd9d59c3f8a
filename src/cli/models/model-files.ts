import { Command } from 'commander';
import type { openModelFiles } from '../../app/models.ts';
import type { Config } from '../../config.ts';
import type { Cli } from '../shared/cli.ts';
import { CliError, exitCodes } from '../shared/exit-codes.ts';
import { interruptible } from '../shared/signals.ts';

/** Flags that select the model folder, as for `serve`. */
export interface FolderFlags {
  data?: string;
  config?: string;
  json?: boolean;
}

/** Command with `FolderFlags`. */
export function folderCommand(name: string, about: string): Command {
  return new Command(name)
    .description(about)
    .option('--data <folder>', 'data folder (OFFPEAK_DATA; default ./offpeak-data)')
    .option('--config <file>', 'configuration file (OFFPEAK_CONFIG; default ./offpeak.yaml if it exists)')
    .option('--json', 'print JSON');
}

/** Configuration with the folders of the flags. Its models may be missing. */
export async function readFolders(cli: Cli, flags: FolderFlags): Promise<Config> {
  // Keys of the environment may belong to a remote server.
  const env = { ...cli.env, OFFPEAK_API_KEY: undefined, OFFPEAK_ADMIN_KEY: undefined };
  // Loaded here to keep other commands fast.
  const { readConfig } = await import('../shared/server-flags.ts');
  return readConfig({ ...cli, env }, flags, { missingModels: true });
}

type ModelFiles = ReturnType<typeof openModelFiles>;

/** Opens the model folder for `use`, which Ctrl-C aborts. */
export async function withModelFiles<T>(
  cli: Cli,
  flags: FolderFlags,
  use: (files: ModelFiles, context: { signal: AbortSignal; config: Config }) => Promise<T>,
): Promise<T> {
  const config = await readFolders(cli, flags);
  const app = await import('../../app/models.ts');
  const files = app.openModelFiles(config, cli);
  const hint = 'Fetched bytes are kept: run it again to resume.';
  const stopped = new CliError('Stopped.', hint, exitCodes.interrupted);
  try {
    return await interruptible(cli, stopped, (signal) => use(files, { signal, config }));
  } finally {
    await files.close();
  }
}

const units = ['', ' thousand', ' million', ' billion', ' trillion'] as const;

/** Count as text: `943 thousand`, `7.25 billion`. */
export function showCount(count: number): string {
  let value = count;
  let unit = 0;
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000;
  return unit === 0 ? String(count) : `${value.toPrecision(3)}${units[unit]}`;
}
