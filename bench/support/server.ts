// The process under measurement: a whole Offpeak. Its first argument is the configuration as JSON.
import { createApp } from '../../src/app.ts';
import type { Config } from '../../src/config.ts';
import { answerFigures } from './measured.ts';

const app = await createApp(JSON.parse(process.argv[2] ?? '') as Config);
await app.start();
answerFigures();
console.log(JSON.stringify({ url: app.url }));
process.once('SIGTERM', () => {
  void app.stop().then(() => process.exit(0));
});
