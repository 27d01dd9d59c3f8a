import { InputCheck, type CheckReport } from './check-input.ts';

/** Message of the worker: progress while it reads, and the last report. */
export type CheckMessage = { report: CheckReport; isDone: boolean } | { error: string };

const reportMs = 150;

async function check(file: Blob): Promise<void> {
  const input = new InputCheck();
  let reportedAt = 0;
  for await (const chunk of file.stream()) {
    input.push(chunk);
    if (performance.now() - reportedAt < reportMs) continue;
    reportedAt = performance.now();
    tell({ report: input.report(), isDone: false });
  }
  input.end();
  tell({ report: input.report(), isDone: true });
}

function tell(message: CheckMessage): void {
  // A worker posts to its page, which needs no origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  self.postMessage(message);
}

self.addEventListener('message', ({ data }: MessageEvent<Blob>) => {
  check(data).catch((error: unknown) =>
    tell({ error: error instanceof Error ? error.message : String(error) }),
  );
});
