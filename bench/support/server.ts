// Process under measurement: a whole Offpeak. Its arguments are the configuration as JSON, and name servers for webhook hosts.
import { setFlagsFromString } from 'node:v8';
import { createApp } from '../../src/app.ts';
import type { Config } from '../../src/config.ts';
import { createHostLookup } from '../../src/events/host-lookup.ts';
import { answerFigures } from './measured.ts';

// Same flags as src/main.ts; one more is on the command line, because it must be set before code is loaded.
setFlagsFromString('--heap-growing-percent=100');
setFlagsFromString('--max-semi-space-size=0');
const [config = '', ...servers] = process.argv.slice(2);
const app = await createApp(JSON.parse(config) as Config, {
  ...(servers.length > 0 && { lookupHost: createHostLookup({ servers }) }),
});
await app.start();
answerFigures();
console.log(JSON.stringify({ url: app.url }));
process.once('SIGTERM', () => {
  void app.stop().then(() => process.exit(0));
});
