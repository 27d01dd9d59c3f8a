// What tests get as 'fast-check' (vitest.config.ts): the same values in every run, so that no run finds by chance what the
// one before did not. `OFFPEAK_SEED=7` has others tried.
import { configureGlobal } from '../../node_modules/fast-check/lib/fast-check.js';

configureGlobal({ seed: Number(process.env['OFFPEAK_SEED'] ?? 20_261_121) });

export * from '../../node_modules/fast-check/lib/fast-check.js';
