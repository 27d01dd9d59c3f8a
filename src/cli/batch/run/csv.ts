import { Option } from 'commander';
import { csvRecord, withoutFormula } from '../../../base/csv-record.ts';
import { parseLine, splitLines } from '../../../base/byte-lines.ts';
import type { ResultLine } from '../../../client/resources.ts';
import { CliError } from '../../shared/exit-codes.ts';
import { answerOf } from './answer.ts';

export type Format = 'jsonl' | 'csv';

export function readFormat(format: string): Format {
  if (format === 'jsonl' || format === 'csv') return format;
  throw new CliError(`--format must be jsonl or csv, not '${format}'.`);
}

/** Creates the option anew for each command, because commands may change theirs. */
export function rawOption(): Option {
  return new Option('--raw', 'with csv: do not escape text that begins like a formula, such as =1+1');
}

const columns = [
  'custom_id',
  'status_code',
  'content',
  'finish_reason',
  'input_tokens',
  'output_tokens',
  'error_code',
  'error_message',
] as const;

export const csvHead = csvRecord(columns);

/**
 * CSV row of a result line, in the columns of `csvHead`, for every request format. No cell runs as a formula unless `raw` is set,
 * ids included.
 */
export function csvRow(line: ResultLine, raw: boolean): string {
  const cells = [line.custom_id, line.response?.status_code ?? null, ...Object.values(answerOf(line))];
  return csvRecord(raw ? cells : cells.map(withoutFormula));
}

/** Converts result lines to CSV. */
export async function* toCsv(jsonl: AsyncIterable<Uint8Array>, raw: boolean): AsyncGenerator<Uint8Array> {
  yield Buffer.from(csvHead);
  for await (const { bytes } of splitLines(jsonl)) {
    const line = parseLine(bytes) as ResultLine | undefined;
    if (line !== undefined) yield Buffer.from(csvRow(line, raw));
  }
}
