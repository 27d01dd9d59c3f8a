import { flushCompileCache } from 'node:module';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { removeProto } from '../../base/remove-proto.ts';

removeProto();
// On Linux this is the priority of the thread alone, so that the main thread goes first on few cores. It also covers loading.
if (process.platform === 'linux') setPriority(10);
const { createThreadChecker } = await import('./checker.ts');

/** Tries and applies schemas of any cost; the parent kills this thread if that takes too long. The first message means that it is ready. */
const port = parentPort!;
const check = createThreadChecker();
port.on('message', (step) => port.postMessage(check(step)));
port.postMessage(null);
// Node writes the cache at exit, which a killed thread does not reach.
flushCompileCache();
