import { existsSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { isCheckout, packageFolder as root } from '../base/program.ts';

export interface Surroundings {
  env: Record<string, string | undefined>;
  cwd: string;
}

/** Command that runs this program from the current folder, for hints: `bin/offpeak`, `npx offpeak` or `offpeak`. */
export function selfCommand({ env, cwd }: Surroundings): string {
  if (isCheckout) return shortPath(join(root, 'bin', 'offpeak'), cwd).replace(/^offpeak$/, './offpeak');
  if (env.npm_command === 'exec') return 'npx offpeak';
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.some((folder) => existsSync(join(folder, 'offpeak'))) ? 'offpeak' : 'npx offpeak';
}

/** Path of the example requests that every installation contains. */
export function exampleRequests({ cwd }: Pick<Surroundings, 'cwd'>): string {
  return shortPath(join(root, 'examples', 'demo.jsonl'), cwd);
}

function shortPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short.startsWith('..') ? path : short;
}
