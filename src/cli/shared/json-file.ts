import { readFileSync } from 'node:fs';
import { fieldsOf, parseOrUndefined } from '../../base/fields.ts';
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
  const found: Partial<T> = fieldsOf(parseOrUndefined(text)) as Partial<T>;
  if (isOurs(found)) return found as T;
  throw new CliError(`${path} is not ${what}.`, advice);
}
