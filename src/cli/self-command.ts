import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isCheckout, packageFolder as root } from '../base/program.ts';
import { showPath } from './shared/local-file.ts';

export interface Surroundings {
  env: Record<string, string | undefined>;
  cwd: string;
}

/** Command that runs this program from the current folder, for hints: `bin/offpeak`, `npx offpeak` or `offpeak`. */
export function selfCommand({ env, cwd }: Surroundings): string {
  if (isCheckout) return showPath({ cwd }, join(root, 'bin', 'offpeak')).replace(/^offpeak$/, './offpeak');
  if (env.npm_command === 'exec') return 'npx offpeak';
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.some((folder) => existsSync(join(folder, 'offpeak'))) ? 'offpeak' : 'npx offpeak';
}

/** Path of the example requests that every installation contains. */
export function exampleRequests({ cwd }: Pick<Surroundings, 'cwd'>): string {
  return showPath({ cwd }, join(root, 'examples', 'demo.jsonl'));
}
