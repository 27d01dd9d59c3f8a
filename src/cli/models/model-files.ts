import { Command } from 'commander';
import type { openModelFiles } from '../../app/models.ts';
import type { Config } from '../../config.ts';
import type { Cli } from '../shared/cli.ts';
import { CliError, exitCodes } from '../shared/exit-codes.ts';
import { interruptible } from '../shared/signals.ts';

/** The flags that say which folder of models is meant: that of the server with the same ones. */
export interface FolderFlags {
  data?: string;
  config?: string;
  json?: boolean;
}

/** A command that works with the model files of this machine. */
export function folderCommand(name: string, about: string): Command {
  return new Command(name)
    .description(about)
    .option('--data <folder>', 'where data lives (OFFPEAK_DATA; default ./offpeak-data)')
    .option('--config <file>', 'the configuration (OFFPEAK_CONFIG; default ./offpeak.yaml if it is there)')
    .option('--json', 'print JSON');
}

type ModelFiles = ReturnType<typeof openModelFiles>;

/** Works with the model files of this machine. Ctrl-C aborts what runs. */
export async function withModelFiles<T>(
  cli: Cli,
  flags: FolderFlags,
  use: (files: ModelFiles, context: { signal: AbortSignal; config: Config }) => Promise<T>,
): Promise<T> {
  // The models that a configuration names need not be here yet: fetching them may be the point.
  // The keys of the environment may be those of a server elsewhere.
  const env = { ...cli.env, OFFPEAK_API_KEY: undefined, OFFPEAK_ADMIN_KEY: undefined };
  // Only what works with these files pays for reading a configuration.
  const { readConfig: configOf } = await import('../shared/server-flags.ts');
  const app = await import('../../app/models.ts');
  const config = configOf({ ...cli, env }, flags, { missingModels: true });
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

/** A count for people: `943 thousand`, `7.25 billion`. */
export function showCount(count: number): string {
  let value = count;
  let unit = 0;
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000;
  return unit === 0 ? String(count) : `${value.toPrecision(3)}${units[unit]}`;
}
