import * as ajv from 'ajv';

/** `src/base/load-package.ts` for a browser: the only package that the checks of input files load. */
export function loadPackage(name: string): unknown {
  if (name === 'ajv') return ajv;
  throw new Error(`The console has no package ${name}.`);
}
