import { readFileSync } from 'node:fs';
import { CliError } from './exit-codes.ts';

/**
 * What a file of ours says; undefined where there is none.
 * @param what it should be, for who finds something else there
 * @param advice what to do then
 */
export function readJsonFile<T extends object>(
  path: string,
  isOurs: (found: Partial<T>) => boolean,
  what: string,
  advice: string,
): T | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  try {
    const found = JSON.parse(text) as Partial<T>;
    if (isOurs(found)) return found as T;
  } catch {
    // Told below.
  }
  throw new CliError(`${path} is not ${what}.`, advice);
}
