/** How `bin/offpeak.cjs` starts a server on a machine with much memory. */
export const lean = {
  flags: ['--max-old-space-size=2000', '--max-semi-space-size=16'],
  env: { MALLOC_ARENA_MAX: '2' },
};
