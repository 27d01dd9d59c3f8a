import { resolve } from 'node:path';
import { Command } from 'commander';
import { readModelSource } from '../../core/model-source.ts';
import type { ModelSource } from '../../core/model-source.ts';
import { examples, wholeNumber } from '../shared/commands.ts';
import type { Cli } from '../shared/cli.ts';
import { CliError } from '../shared/exit-codes.ts';
import { withFolderFlags } from './flags.ts';
import type { InspectFlags } from './flags.ts';

export function modelsInspect(cli: Cli): Command {
  const tokens = wholeNumber('--context', 1, 16_777_216);
  const command = new Command('inspect')
    .description('show what a model file is and the memory it needs, from its header alone')
    .argument('<model>', 'a path, hf:owner/repo/file.gguf, or an https:// URL')
    .option('--sequences <n>', 'requests at once (default 8)', wholeNumber('--sequences', 1, 256))
    .option('--context <n>', 'tokens of each, or auto (default auto)', (text) =>
      text === 'auto' ? text : tokens(text),
    );
  return withFolderFlags(command)
    .option('--json', 'print JSON')
    .addHelpText('after', examples('models/offpeak-tiny.gguf --sequences 16 --context 4096'))
    .action(async (model: string, flags: InspectFlags) => {
      const source = sourceOf(model, cli.cwd);
      const { runInspect } = await import('./run-inspect.ts');
      await runInspect(cli, flags, source);
    });
}

function sourceOf(text: string, cwd: string): ModelSource {
  const source = readModelSource(text);
  if (source.kind === 'wrong') throw new CliError(`'${text}' ${source.problem}.`, source.hint);
  return source.kind === 'path' ? { kind: 'path', path: resolve(cwd, source.path) } : source;
}
