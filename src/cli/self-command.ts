import { existsSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { isCheckout, packageFolder as root } from '../base/program.ts';

export interface Surroundings {
  env: Record<string, string | undefined>;
  cwd: string;
}

/** How this program is called from where the user stands, as hints show it: `bin/offpeak`, `npx offpeak` or `offpeak`. */
export function selfCommand({ env, cwd }: Surroundings): string {
  if (isCheckout) return fromHere(join(root, 'bin', 'offpeak'), cwd).replace(/^offpeak$/, './offpeak');
  if (env.npm_command === 'exec') return 'npx offpeak';
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.some((folder) => existsSync(join(folder, 'offpeak'))) ? 'offpeak' : 'npx offpeak';
}

/** A file of requests that every installation has, to try a batch with. */
export function exampleRequests({ cwd }: Pick<Surroundings, 'cwd'>): string {
  return fromHere(join(root, 'examples', 'demo.jsonl'), cwd);
}

function fromHere(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short.startsWith('..') ? path : short;
}
