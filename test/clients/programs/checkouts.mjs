// Shared code of programs that exist only as a source checkout.

import { spawn } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const installed = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Copies these folders of the checkout beside the packages and returns the path. */
export function copyOf(...folders) {
  const copy = join(installed, 'checkout');
  rmSync(copy, { recursive: true, force: true });
  const filter = (path) => !path.includes('node_modules');
  for (const folder of folders)
    cpSync(join(process.env.CHECKOUT, folder), join(copy, folder), { recursive: true, filter });
  return copy;
}

/** Runs a TypeScript file of the checkout and returns its output. */
export async function runFile(cwd, args) {
  const child = spawn(process.execPath, [join(installed, 'node_modules/tsx/dist/cli.mjs'), ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { out, err };
}
