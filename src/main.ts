import { start } from './cli/start.ts';

await start();
