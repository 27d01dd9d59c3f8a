import { readFileSync } from 'node:fs';
import { fieldsOf, parseOrUndefined } from '../../base/fields.ts';
import { CliError } from './exit-codes.ts';

/**
 * Content of a JSON file, or undefined without the file.
 * @param what the file should be, for the error message
 * @throws CliError with the hint when the content is not valid
 */
export function readJsonFile<T extends object>(
  path: string,
  isValid: (content: Partial<T>) => boolean,
  what: string,
  hint: string,
): T | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  const content = fieldsOf(parseOrUndefined(text)) as Partial<T>;
  if (isValid(content)) return content as T;
  throw new CliError(`${path} is not ${what}.`, hint);
}
