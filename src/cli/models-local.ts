import { Command } from 'commander';
import type { Cli } from './cli.ts';
import { withFolderFlags } from './models/flags.ts';
import type { FolderFlags } from './models/flags.ts';

export function modelsLocal(cli: Cli): Command {
  const command = new Command('local').description('list the model files in the folder of models');
  return withFolderFlags(command)
    .option('--json', 'print JSON')
    .action(async (flags: FolderFlags & { json?: boolean }) => {
      const { runLocal } = await import('./models/run-local.ts');
      await runLocal(cli, flags);
    });
}
