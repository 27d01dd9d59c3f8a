// Shared code of the coding agents. They run in a temporary folder and can reach only Offpeak.

import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const bin = join(dirname(fileURLToPath(import.meta.url)), '../node_modules/.bin');
const folder = mkdtempSync(join(tmpdir(), 'offpeak-agent-'));
const nowhere = 'http://127.0.0.1:9';

/** Parses the lines of JSON in the output. */
export async function start(program, args, env) {
  const home = { HOME: folder, PATH: process.env.PATH };
  const child = spawn(join(bin, program), args, {
    cwd: folder,
    env: { ...home, HTTPS_PROXY: nowhere, HTTP_PROXY: nowhere, NO_PROXY: '127.0.0.1', ...env(folder) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const lines = out.split('\n').filter((line) => line.startsWith('{'));
  if (lines.length === 0) throw new Error(`${program} printed: ${out}${err}`.slice(0, 3000));
  return lines.map((line) => JSON.parse(line));
}
