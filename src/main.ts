import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// V8 makes what it saw survive among the old objects at once; of a call to an engine, which outlives many others, that holds
// all the rest, body included, until everything is collected. Before the cache, whose entries hold for the same flags only.
setFlagsFromString('--no-allocation-site-pretenuring');
// Where few objects grow old V8 lets them become a tenth more, and then looks through all: every three seconds of a batch, for
// which single requests wait. Twice what lives is some 10 MB more in memory.
setFlagsFromString('--heap-growing-percent=100');
// What is said of young objects is for this thread, which has it by now; it would overrule what other threads are given.
setFlagsFromString('--max-semi-space-size=0');

// Node keeps what it makes of the sources, which halves the work of the next start: a restart should be over in a second.
// It stands beside the code, because whoever may write there may change the code as well; where we may not, there is none.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/offpeak', import.meta.url)));

const { start } = await import('./cli/start.ts');
await start();
