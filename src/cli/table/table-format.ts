import { closeSync, openSync, readSync } from 'node:fs';
import { extname } from 'node:path';
import { detectBytes } from '../../wire/batch/detect.ts';
import { CliError } from '../shared/exit-codes.ts';
import { type TableFormat, tableFormats } from './table.ts';

const endings: Record<string, TableFormat> = {
  '.csv': 'csv',
  '.tsv': 'tsv',
  '.tab': 'tsv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.parquet': 'parquet',
  '.pq': 'parquet',
};

/** Format by the ending of a file name; undefined for an unknown ending. */
export function formatOfName(path: string): TableFormat | undefined {
  return endings[extname(path).toLowerCase()];
}

/** @throws CliError for an unknown format */
export function readTableFormat(option: string, name: string): TableFormat {
  const known = tableFormats.find((format) => format === name);
  if (known === undefined) throw new CliError(`${option} must be ${tableFormats.join(', ')}, not '${name}'.`);
  return known;
}

/**
 * Format of a file by the `headBytes` first bytes of its content, or else its name.
 * @param name for messages
 * @throws CliError for a file of another kind
 */
export function detectFormat(head: Buffer, name: string): TableFormat {
  if (head.subarray(0, 4).toString('latin1') === 'PAR1') return 'parquet';
  const named = formatOfName(name);
  if (named === 'parquet')
    throw new CliError(`${name} is not a Parquet file.`, 'It may be damaged, or of another format.');
  const binary = detectBytes(head);
  if (binary !== undefined && binary !== 'UTF-16 text') throw notATable(name, binary);
  if (named !== undefined) return named;
  const first = head
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
  if (first.startsWith('{')) return 'jsonl';
  if (first.startsWith('[')) throw notATable(name, 'one JSON array');
  if (first.startsWith('<')) throw notATable(name, 'XML or HTML');
  return 'csv';
}

function notATable(name: string, what: string): CliError {
  const hint = /array/.test(what)
    ? 'With --wrap and --model, batch run makes a request of each item: request bodies, or the conversations of a ChatGPT export.'
    : /zip/.test(what)
      ? 'A spreadsheet can save a sheet as "CSV UTF-8"; an archive must be unpacked first.'
      : 'Tables are CSV, TSV, Parquet, or JSON Lines with one object per line.';
  return new CliError(`${name} is ${what}, not a table.`, hint);
}

export const headBytes = 65_536;

/** First bytes of a file. */
export function readHead(path: string, length = headBytes): Buffer {
  const bytes = Buffer.alloc(length);
  const file = openSync(path, 'r');
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, length, 0));
  } finally {
    closeSync(file);
  }
}
