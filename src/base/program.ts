import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';

/** Whether the sources run, and not what the build makes of them. */
export const isCheckout = import.meta.url.endsWith('.ts');

/** The checkout, or the installed package: where `docs/`, `examples/` and `models/` stand. */
export const packageFolder = dirname(findPackageJSON(import.meta.url) ?? '.');

export function packageVersion(): string {
  const text = readFileSync(join(packageFolder, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** A file that runs in a thread or process of its own, by its name in the sources without an ending: `store/sqlite/worker`. */
export function programFile(name: string): string {
  return isCheckout ? join(packageFolder, 'src', `${name}.ts`) : join(packageFolder, 'dist', `${name}.js`);
}
