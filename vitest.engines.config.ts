import { defineConfig } from 'vitest/config';
import { stableThreads } from './test/support/stable-threads.ts';

// Real engines, where they are installed. `npm test` replays recordings of their answers instead.
export default defineConfig({
  test: {
    pool: 'forks',
    execArgv: stableThreads,
    maxWorkers: 1,
    include: ['test/engines/real/*.real.ts', 'test/blobs/*.real.ts', 'test/deploy/*.real.ts'],
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
});
