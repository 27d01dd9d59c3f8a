import type * as library from 'node-llama-cpp';
import type { Llama } from 'node-llama-cpp';
import type { GpuKind } from '../../../core/card.ts';
import { hasMetal } from './builds.ts';
import { resolveBuild } from './resolve-builds.ts';

export type Library = typeof library;

export interface StartedLibrary {
  library: Library;
  llama: Llama;
}

export interface LibraryWish {
  /** Null for the processor alone. */
  kind: GpuKind | null;
  /** Folder of the engine. */
  folder: string;
  /** Gets the messages of llama.cpp of this severity and above. */
  log: (line: string) => void;
  level: 'error' | 'info';
}

/** Starts llama.cpp; tests pass their own. A process starts it once. */
export type StartLibrary = (wish: LibraryWish) => Promise<StartedLibrary>;

export const startLibrary: StartLibrary = async ({ kind, folder, log, level }) => {
  if (kind !== null) resolveBuild(kind, folder);
  const library = await import('node-llama-cpp');
  const llama = await library.getLlama({
    // On Macs with Apple's processors there is only the build with Metal.
    gpu: kind ?? (hasMetal(process) ? 'metal' : false),
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    maxThreads: 0,
    logLevel: library.LlamaLogLevel[level],
    logger: (_level, message) => log(message.trim()),
  });
  return { library, llama };
};
