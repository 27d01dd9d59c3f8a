import { createRequire } from 'node:module';

/** Loads a package, or a file of one, when it is first needed: what a start does not need it does not pay for. */
export const loadPackage: (name: string) => unknown = createRequire(import.meta.url);
