import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { parseLine, splitLines } from '../../../base/byte-lines.ts';
import { CliError } from '../../shared/exit-codes.ts';
import type { InputPart } from './read-input.ts';

/**
 * A server knows one batch at a time: of two with one `custom_id` nobody would know whose result is whose. What is kept
 * is eight bytes a request; only where two are alike the file is read again, for their lines.
 * @throws CliError where a `custom_id` stands twice
 */
export async function refuseDuplicates(path: string, parts: readonly InputPart[]): Promise<void> {
  const marks = new BigUint64Array(parts.reduce((sum, { customIds }) => sum + customIds.length, 0));
  let count = 0;
  for (const { customIds } of parts) for (const id of customIds) marks[count++] = markOf(id);
  marks.sort();
  const doubtful = new Set(marks.filter((mark, at) => mark === marks[at - 1]));
  if (doubtful.size === 0) return;
  const first = new Map<string, number>();
  let number = 0;
  for await (const { bytes } of splitLines(createReadStream(path))) {
    number++;
    const id = parseLine(bytes)?.['custom_id'];
    if (typeof id !== 'string' || !doubtful.has(markOf(id))) continue;
    const before = first.get(id);
    if (before !== undefined)
      throw new CliError(
        `Lines ${before} and ${number} have the same custom_id '${id}'.`,
        'Nothing was uploaded: each request needs a custom_id of its own.',
      );
    first.set(id, number);
  }
}

function markOf(id: string): bigint {
  return hash('sha256', id, 'buffer').readBigUInt64LE();
}
