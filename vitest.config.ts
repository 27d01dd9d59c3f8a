import { defineConfig } from 'vitest/config';

// Two projects: unit tests stand beside their source and are quick; whatever starts a server, a
// database or an engine lives in test/ and may take its time.
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    // What a test waits for comes when the machine has time for it, not within a second.
    expect: { poll: { timeout: 9_000 } },
    projects: [
      { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts'], testTimeout: 10_000 } },
      {
        extends: true,
        test: { name: 'system', include: ['test/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 120_000 },
      },
    ],
  },
});
