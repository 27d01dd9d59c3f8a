import { defineConfig } from 'vitest/config';
import { stableThreads } from './test/support/stable-threads.ts';

// Servers that others wrote, as far as they can be had here. Not a part of `npm test`, which replays what they said.
export default defineConfig({
  test: {
    pool: 'forks',
    execArgv: stableThreads,
    maxWorkers: 1,
    include: ['test/engines/real/*.real.ts', 'test/blobs/*.real.ts'],
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
});
