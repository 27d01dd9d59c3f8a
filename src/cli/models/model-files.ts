import type { Config } from '../../config.ts';
import type { Cli } from '../shared/cli.ts';
import { CliError, exitCodes } from '../shared/exit-codes.ts';
import { configOf } from '../shared/server-flags.ts';
import type { FolderFlags } from './flags.ts';

type ModelFiles = Awaited<ReturnType<typeof open>>;

/** Works with the model files of this machine. Ctrl-C aborts what runs. */
export async function withModelFiles<T>(
  cli: Cli,
  flags: FolderFlags,
  use: (files: ModelFiles, context: { signal: AbortSignal; config: Config }) => Promise<T>,
): Promise<T> {
  // The models that a configuration names need not be here yet: fetching them may be the point.
  // The keys of the environment may be those of a server elsewhere.
  const env = { ...cli.env, OFFPEAK_API_KEY: undefined, OFFPEAK_ADMIN_KEY: undefined };
  const config = configOf({ ...cli, env }, flags, { missingModels: true });
  const files = await open(cli, config);
  const stop = new AbortController();
  const leave = cli.onInterrupt(() => {
    stop.abort(
      new CliError('Stopped.', 'What was fetched is kept: run it again to go on.', exitCodes.interrupted),
    );
  });
  try {
    return await use(files, { signal: stop.signal, config });
  } finally {
    leave();
    await files.close();
  }
}

async function open({ clock, random }: Cli, config: Config) {
  const { openModelFiles } = await import('../../app/models.ts');
  return openModelFiles(config, { clock, random });
}
