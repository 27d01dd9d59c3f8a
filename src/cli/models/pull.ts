import { resolve } from 'node:path';
import type { Command } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { sum } from '../../base/sum.ts';
import type { PulledModel } from '../../core/model-file.ts';
import { readModelSource, type RemoteSource, formatSource } from '../../core/model-source.ts';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { CliError } from '../shared/exit-codes.ts';
import { folderCommand, type FolderFlags, withModelFiles } from './model-files.ts';
import { createPullProgress } from './pull-progress.ts';

interface Flags extends FolderFlags {
  to?: string;
  sha256?: string;
}

export function modelsPull(cli: Cli): Command {
  return folderCommand('pull', 'download a model file; resumes an interrupted download')
    .argument('<model>', 'hf:owner/repo/file.gguf, or an https:// URL')
    .option('--to <folder>', 'target folder (default: the model folder)')
    .option('--sha256 <hex>', 'expected checksum')
    .addHelpText(
      'after',
      examples('hf:owner/repo/model-Q4_K_M.gguf', 'https://example.com/model.gguf --to models'),
    )
    .action((model: string, flags: Flags) => pull(cli, model, flags));
}

/** Downloads a model. Only its path goes to stdout. */
async function pull(cli: Cli, model: string, flags: Flags): Promise<void> {
  const { terminal } = cli;
  const remote = remoteSource(model);
  const to = flags.to && resolve(cli.cwd, flags.to);
  const request = { source: remote, to, sha256: checksum(flags.sha256) };
  const progress = createPullProgress(terminal, cli.clock);
  const pulled = await withModelFiles(cli, flags, async (files, { signal }) => {
    try {
      return await files.pull({
        ...request,
        signal,
        onProgress: (step) => progress.update(step),
        onNote: (note) => progress.note(note),
      });
    } finally {
      progress.stop();
    }
  });
  const source = formatSource(remote);
  if (flags.json === true) return terminal.json({ source, ...pulled });
  terminal.note(summary(pulled));
  terminal.print(pulled.path);
  const path = flags.to === undefined && remote.kind === 'hub' ? source : pulled.path;
  terminal.note(`To serve it, in offpeak.yaml: engine: { kind: llama, path: ${JSON.stringify(path)} }`);
}

function summary({ files }: PulledModel): string {
  const bytes = sum(files.map((file) => file.bytes));
  const parts = files.length === 1 ? '' : ` in ${files.length} files`;
  if (files.every(({ present }) => present)) return `Already downloaded: ${formatBytes(bytes)}${parts}.`;
  const isChecked = files.every(({ sha256 }) => sha256 !== null);
  const checked = isChecked ? 'checksum verified' : 'without a checksum to verify';
  return `Downloaded ${formatBytes(bytes)}${parts}, ${checked}.`;
}

function remoteSource(text: string): RemoteSource {
  const source = readModelSource(text);
  if (source.kind === 'wrong') throw new CliError(`'${text}' ${source.problem}.`, source.hint);
  if (source.kind === 'path')
    throw new CliError(`'${text}' is a local path.`, 'Pass hf:owner/repo/file.gguf or an https:// URL.');
  return source;
}

function checksum(text: string | undefined): string | undefined {
  if (text === undefined || /^[0-9a-f]{64}$/i.test(text)) return text?.toLowerCase();
  throw new CliError('--sha256 must be 64 hexadecimal digits.');
}
