import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';

/** True when running from sources, false from the build. */
export const isCheckout = import.meta.url.endsWith('.ts');

/** Root of the checkout or installed package, with `docs/`, `examples/` and `models/`. */
export const packageFolder = dirname(findPackageJSON(import.meta.url) ?? '.');

export function packageVersion(): string {
  const text = readFileSync(join(packageFolder, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Entry file of a thread or process, by its source path without extension: `store/sqlite/worker`. */
export function programFile(name: string): string {
  return isCheckout ? join(packageFolder, 'src', `${name}.ts`) : join(packageFolder, 'dist', `${name}.js`);
}
