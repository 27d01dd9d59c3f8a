import { flushCompileCache } from 'node:module';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { removeProto } from '../../base/remove-proto.ts';
import type { FromSchemaWorker, SchemaVerdict, ToSchemaWorker } from './job.ts';

removeProto();
// On Linux this is the priority of the thread alone, so that the main thread goes first on few cores. It also covers loading.
if (process.platform === 'linux') setPriority(10);
const { createSchemaChecker } = await import('./checker.ts');

/** Compiles and applies untrusted schemas; the parent kills this thread if that takes too long. */
const port = parentPort!;
const checker = createSchemaChecker();

port.on('message', ({ steps, forget }: ToSchemaWorker) => {
  for (const number of forget) checker.forget(number);
  for (const step of steps) answer(checker.judge(step));
});
// Warm up before the first job: one-time costs, mostly for the meta-schemas.
for (const source of [
  '{"$schema":"http://json-schema.org/draft-07/schema#","pattern":"a"}',
  '{"pattern":"a"}',
])
  checker.judge({ number: 0, source, text: null });
checker.forget(0);
answer(null);
// Node writes the cache at exit, which a killed thread does not reach.
flushCompileCache();

function answer(verdict: SchemaVerdict | null): void {
  const { user, system } = process.threadCpuUsage();
  port.postMessage({ verdict, spentMs: (user + system) / 1000 } satisfies FromSchemaWorker);
}
