import { basename } from 'node:path';
import type { Log } from '../../base/log.ts';
import type { Service } from '../../base/service.ts';
import { sum } from '../../base/sum.ts';
import type { PullProgress } from '../../core/model-file.ts';
import { type RemoteSource, formatSource } from '../../core/model-source.ts';
import type { ModelFiles } from './model-files.ts';

/** Progress is logged for each tenth of a model, or for each such amount of bytes if the size is unknown. */
const loggedShare = 0.1;
const loggedBytes = 256 * 1024 ** 2;

/** Fetches the missing models of a configuration at `start`. After a stop, the next start resumes. */
export function createStartPulls(files: ModelFiles, sources: readonly RemoteSource[], log: Log): Service {
  const stopping = new AbortController();
  let pulling: Promise<void> = Promise.resolve();

  async function pull(source: RemoteSource): Promise<void> {
    const from = formatSource(source);
    const { path, files: pulled } = await files.pull({
      source,
      signal: stopping.signal,
      onProgress: progressLogger(log, from),
      onNote: (note) => log.warn({ from }, note),
    });
    const bytes = sum(pulled.map((file) => file.bytes));
    const isNew = pulled.some(({ present }) => !present);
    if (isNew) log.info({ from, path, bytes }, 'The model was fetched.');
  }

  return {
    async start() {
      pulling = (async () => {
        for (const source of sources) await pull(source);
      })();
      await pulling;
    },
    async stop() {
      stopping.abort(new Error('The server was stopped while it fetched a model.'));
      await pulling.catch(() => {});
      await files.close();
    },
  };
}

function progressLogger(log: Log, from: string): (progress: PullProgress) => void {
  let logged = '';
  return ({ phase, file, part, parts, done, total }) => {
    const step = total === null ? Math.floor(done / loggedBytes) : Math.floor(done / total / loggedShare);
    const state = `${phase} ${part} ${step}`;
    if (state === logged) return;
    logged = state;
    const percent = total === null || total === 0 ? null : Math.floor((done / total) * 100);
    log.info({ from, phase, file: basename(file), part, parts, done, total, percent }, 'Fetching a model.');
  };
}
