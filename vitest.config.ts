import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { stableThreads } from './test/support/stable-threads.ts';

// Two projects: fast unit tests beside their sources, and tests that start a server, a database or an engine in test/.
// Unit tests leave no state behind and share processes, because a process for each file would double their time.
// Timeouts catch hangs, not slowness: tests must pass on a busy machine.
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
      {
        extends: true,
        test: { name: 'unit', isolate: false, include: ['src/**/*.test.ts', 'console/src/**/*.test.ts'] },
      },
      { extends: true, test: { name: 'system', include: ['test/**/*.test.ts'] } },
    ],
  },
});
