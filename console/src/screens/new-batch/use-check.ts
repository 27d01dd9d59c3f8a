import { useEffect, useState } from 'react';
import type { CheckReport } from './check-input.ts';
import type { CheckMessage } from './check.worker.ts';

export interface Check {
  report: CheckReport | null;
  isDone: boolean;
  error: string | null;
}

const begun: Check = { report: null, isDone: false, error: null };

/** Checks a file in a worker, so that the page stays quick. Another file, or none, stops the check. */
export function useCheck(file: File | null): Check {
  const [state, setState] = useState<{ file: File | null; check: Check }>({ file: null, check: begun });
  useEffect(() => {
    if (!file) return undefined;
    const worker = new Worker(new URL('./check.worker.ts', import.meta.url), { type: 'module' });
    const set = (check: Check) => setState({ file, check });
    worker.addEventListener('message', ({ data }: MessageEvent<CheckMessage>) => {
      if ('error' in data) set({ report: null, isDone: true, error: data.error });
      else set({ report: data.report, isDone: data.isDone, error: null });
    });
    worker.addEventListener('error', () =>
      set({ report: null, isDone: true, error: 'The file cannot be read.' }),
    );
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    worker.postMessage(file);
    return () => worker.terminate();
  }, [file]);
  return state.file === file ? state.check : begun;
}
