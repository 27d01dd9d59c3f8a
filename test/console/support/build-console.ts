import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

/** Builds the console of this checkout, unless the build is current. */
export function buildConsole(): void {
  execFileSync(process.execPath, [join(root, 'tools/console.mjs')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
