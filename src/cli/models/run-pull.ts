import { showBytes } from '../../base/bytes.ts';
import type { PullRequest, PulledModel } from '../../core/model-file.ts';
import { showSource } from '../../core/model-source.ts';
import type { Cli } from '../shared/cli.ts';
import type { PullFlags } from './flags.ts';
import { withModelFiles } from './model-files.ts';
import { createPullProgress } from './pull-progress.ts';

/** Fetches a model. Its path is the result, everything about it is a remark. */
export async function runPull(
  cli: Cli,
  flags: PullFlags,
  request: Pick<PullRequest, 'source' | 'to' | 'sha256'>,
): Promise<void> {
  const { terminal } = cli;
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
  const source = showSource(request.source);
  if (flags.json === true) return terminal.json({ source, ...pulled });
  terminal.note(summary(pulled));
  terminal.print(pulled.path);
  const path = request.to === undefined && request.source.kind === 'hub' ? source : pulled.path;
  terminal.note(`To serve it, in offpeak.yaml: engine: { kind: llama, path: ${JSON.stringify(path)} }`);
}

function summary({ files }: PulledModel): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const parts = files.length === 1 ? '' : ` in ${files.length} files`;
  if (files.every(({ present }) => present)) return `It is here already: ${showBytes(bytes)}${parts}.`;
  const isChecked = files.every(({ sha256 }) => sha256 !== null);
  const checked = isChecked ? 'checksum right' : 'nobody told a checksum';
  return `Fetched ${showBytes(bytes)}${parts}, ${checked}.`;
}
