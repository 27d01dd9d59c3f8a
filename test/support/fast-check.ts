// Replaces 'fast-check' in tests (vitest.config.ts) with a fixed seed, so that every run tries the same values.
// `OFFPEAK_SEED=7` tries others.
import { configureGlobal } from '../../node_modules/fast-check/lib/fast-check.js';

configureGlobal({ seed: Number(process.env['OFFPEAK_SEED'] ?? 20_261_121) });

export * from '../../node_modules/fast-check/lib/fast-check.js';
