import { flushCompileCache } from 'node:module';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import type { FromSchemaWorker, SchemaVerdict, ToSchemaWorker } from './job.ts';

// On Linux this is the priority of the thread alone: the one that answers everybody goes first where cores are few. What
// is loaded takes its time, too.
if (process.platform === 'linux') setPriority(10);
const { createSchemaChecker } = await import('./checker.ts');

/** The thread in which schemas of strangers are compiled and applied; its parent ends it when that takes too long. */
const port = parentPort!;
const checker = createSchemaChecker();

port.on('message', ({ steps, forget }: ToSchemaWorker) => {
  for (const number of forget) checker.forget(number);
  for (const step of steps) answer(checker.judge(step));
});
// What is made once, the meta-schemas above all, is no job's time.
for (const source of [
  '{"$schema":"http://json-schema.org/draft-07/schema#","pattern":"a"}',
  '{"pattern":"a"}',
])
  checker.judge({ number: 0, source, text: null });
checker.forget(0);
answer(null);
// Otherwise written at its end, which a kill never reaches.
flushCompileCache();

function answer(verdict: SchemaVerdict | null): void {
  const { user, system } = process.threadCpuUsage();
  port.postMessage({ verdict, spentMs: (user + system) / 1000 } satisfies FromSchemaWorker);
}
