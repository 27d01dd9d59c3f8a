import { Command } from 'commander';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { withFolderFlags } from './flags.ts';
import type { FolderFlags } from './flags.ts';

export function modelsLocal(cli: Cli): Command {
  const command = new Command('local').description('list the model files in the folder of models');
  return withFolderFlags(command)
    .option('--json', 'print JSON')
    .addHelpText('after', examples(''))
    .action(async (flags: FolderFlags & { json?: boolean }) => {
      const { runLocal } = await import('./run-local.ts');
      await runLocal(cli, flags);
    });
}
