import { createRequire } from 'node:module';

/** Loads a package, or a file of one, on first use, which keeps start-up fast. */
export const loadPackage: (name: string) => unknown = createRequire(import.meta.url);
