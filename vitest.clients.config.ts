import { defineConfig } from 'vitest/config';
import { stableThreads } from './test/support/stable-threads.ts';

// Programs that others wrote, fetched as they were published. Not a part of `npm test`, which replays what they send.
export default defineConfig({
  test: {
    pool: 'forks',
    execArgv: stableThreads,
    maxWorkers: 1,
    include: ['test/clients/*.real.ts'],
    testTimeout: 420_000,
    hookTimeout: 600_000,
  },
});
