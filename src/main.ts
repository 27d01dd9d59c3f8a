import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// V8 would allocate objects that usually survive directly in the old generation; a long engine call then keeps its whole request
// alive until a full collection. Set before the compile cache, whose entries are valid for the same flags only.
setFlagsFromString('--no-allocation-site-pretenuring');
// By default V8 runs a full collection when the old generation grows by a tenth: every three seconds of a batch, which delays
// interactive requests. Growth to twice the live size costs some 10 MB.
setFlagsFromString('--heap-growing-percent=100');
// The flag of the young generation has taken effect in this thread; it would override the resource limits of other threads.
setFlagsFromString('--max-semi-space-size=0');

// The compile cache halves the work of the next start. It is next to the code, because who can write there can change the code
// as well; without write access there is no cache.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/offpeak', import.meta.url)));

const { start } = await import('./cli/start.ts');
await start();
