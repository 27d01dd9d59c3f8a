import { resolve } from 'node:path';
import { Command } from 'commander';
import { readModelSource } from '../../core/model-source.ts';
import type { RemoteSource } from '../../core/model-source.ts';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { CliError } from '../shared/exit-codes.ts';
import { withFolderFlags } from './flags.ts';
import type { PullFlags } from './flags.ts';

export function modelsPull(cli: Cli): Command {
  const command = new Command('pull')
    .description('fetch a model file; run again after an interruption it goes on')
    .argument('<model>', 'hf:owner/repo/file.gguf, or an https:// URL')
    .option('--to <folder>', 'where the file goes (default: its place in the folder of models)')
    .option('--sha256 <hex>', 'the checksum it must have');
  return withFolderFlags(command)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      examples('hf:owner/repo/model-Q4_K_M.gguf', 'https://example.com/model.gguf --to models'),
    )
    .action(async (model: string, flags: PullFlags) => {
      const request = { source: remoteSource(model), to: flags.to && resolve(cli.cwd, flags.to) };
      const sha256 = checksum(flags.sha256);
      const { runPull } = await import('./run-pull.ts');
      await runPull(cli, flags, { ...request, sha256 });
    });
}

function remoteSource(text: string): RemoteSource {
  const source = readModelSource(text);
  if (source.kind === 'wrong') throw new CliError(`'${text}' ${source.problem}.`, source.hint);
  if (source.kind === 'path')
    throw new CliError(
      `'${text}' is a path; only files from elsewhere can be pulled.`,
      'Write hf:owner/repo/file.gguf, or an https:// URL.',
    );
  return source;
}

function checksum(text: string | undefined): string | undefined {
  if (text === undefined || /^[0-9a-f]{64}$/i.test(text)) return text?.toLowerCase();
  throw new CliError('--sha256 must be 64 hexadecimal digits.');
}
