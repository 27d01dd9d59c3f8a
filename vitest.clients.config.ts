import { defineConfig } from 'vitest/config';
import { stableThreads } from './test/support/stable-threads.ts';

// Published clients and programs, run for real. `npm test` replays recordings of their requests instead.
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
