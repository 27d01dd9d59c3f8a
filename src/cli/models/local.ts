import { relative } from 'node:path';
import type { Command } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import type { LocalModel } from '../../core/model-file.ts';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { folderCommand, type FolderFlags, showCount, withModelFiles } from './model-files.ts';

export function modelsLocal(cli: Cli): Command {
  return folderCommand('local', 'list the model files in the model folder')
    .addHelpText('after', examples(''))
    .action((flags: FolderFlags) => listFiles(cli, flags));
}

async function listFiles(cli: Cli, flags: FolderFlags): Promise<void> {
  const { terminal } = cli;
  await withModelFiles(cli, flags, async (files, { config: { modelFolder: folder } }) => {
    const models = await files.local();
    if (flags.json === true) return terminal.json({ folder, models });
    if (models.length > 0) terminal.note(`In ${folder}:`);
    else terminal.note(`No models in ${folder}. Download one with: ${terminal.self.command} models pull`);
    terminal.table(
      ['file', 'architecture', 'parameters', 'quantization', 'size', 'state'],
      models.map((model) => [
        relative(folder, model.path),
        model.architecture ?? '',
        model.parameters === null ? '' : showCount(model.parameters),
        model.quantization ?? '',
        formatBytes(model.bytes),
        stateOf(model),
      ]),
    );
  });
}

function stateOf({ fault, unfinished, parts }: LocalModel): string {
  if (fault !== null) return `broken: ${fault}`;
  const split = parts === null ? '' : `, ${parts.here} of ${parts.of} files`;
  return unfinished === null ? `complete${split}` : `${Math.floor(unfinished * 100)}% downloaded${split}`;
}
