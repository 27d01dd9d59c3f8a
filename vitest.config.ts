import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { stableThreads } from './test/support/stable-threads.ts';

// Two projects: unit tests stand beside their source and are quick; whatever starts a server, a
// database or an engine lives in test/ and may take its time. Unit tests leave nothing behind that another would meet, and so
// share their processes: a new one for each file, which loads everything anew, costs as much again as the tests.
// The limits of time are for what hangs, not for what is slow: a test holds on a machine that is busy with other things.
export default defineConfig({
  resolve: {
    alias: { 'fast-check': fileURLToPath(new URL('test/support/fast-check.ts', import.meta.url)) },
  },
  test: {
    pool: 'forks',
    execArgv: stableThreads,
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    projects: [
      { extends: true, test: { name: 'unit', isolate: false, include: ['src/**/*.test.ts'] } },
      { extends: true, test: { name: 'system', include: ['test/**/*.test.ts'] } },
    ],
  },
});
