import { relative } from 'node:path';
import { showBytes } from '../../base/bytes.ts';
import type { LocalModel } from '../../core/model-file.ts';
import type { Cli } from '../shared/cli.ts';
import type { FolderFlags } from './flags.ts';
import { withModelFiles } from './model-files.ts';
import { showCount } from './show-count.ts';

export async function runLocal(cli: Cli, flags: FolderFlags & { json?: boolean }): Promise<void> {
  const { terminal } = cli;
  await withModelFiles(cli, flags, async (files, { config }) => {
    const models = await files.local();
    if (flags.json === true) return terminal.json({ folder: config.modelFolder, models });
    if (models.length === 0) terminal.note(`No models in ${config.modelFolder}. Fetch one with: models pull`);
    else terminal.note(`In ${config.modelFolder}:`);
    terminal.table(
      ['file', 'architecture', 'parameters', 'quantization', 'size', 'state'],
      models.map((model) => [
        relative(config.modelFolder, model.path),
        model.architecture ?? '',
        model.parameters === null ? '' : showCount(model.parameters),
        model.quantization ?? '',
        showBytes(model.bytes),
        stateOf(model),
      ]),
    );
  });
}

function stateOf({ fault, unfinished, parts }: LocalModel): string {
  if (fault !== null) return `broken: ${fault}`;
  const split = parts === null ? '' : `, ${parts.here} of ${parts.of} files`;
  return unfinished === null ? `whole${split}` : `${Math.floor(unfinished * 100)}% here${split}`;
}
