// The process under measurement: a whole Offpeak. Its first argument is the configuration as JSON.
import { setFlagsFromString } from 'node:v8';
import { createApp } from '../../src/app.ts';
import type { Config } from '../../src/config.ts';
import { answerFigures } from './measured.ts';

// As src/main.ts says; one more flag is on the command line, since it is for what is loaded, too.
setFlagsFromString('--heap-growing-percent=100');
setFlagsFromString('--max-semi-space-size=0');
const app = await createApp(JSON.parse(process.argv[2] ?? '') as Config);
await app.start();
answerFigures();
console.log(JSON.stringify({ url: app.url }));
process.once('SIGTERM', () => {
  void app.stop().then(() => process.exit(0));
});
