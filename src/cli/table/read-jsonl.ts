import { splitLines } from '../../base/byte-lines.ts';
import { isObject } from '../../base/fields.ts';
import { readUtf8 } from './decode-text.ts';
import type { Table, TableRow } from './table.ts';

const batchBytes = 4_194_304;
const batchRows = 1000;

/** Opens a file with one JSON object per line, of any members. */
export function openJsonl(path: string, name: string, encoding?: string): Table {
  return {
    format: 'jsonl',
    name,
    columns: undefined,
    unit: 'line',
    rows: undefined,
    read: () => readRows(readUtf8(path, name, encoding)),
  };
}

async function* readRows(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TableRow[]> {
  let batch: TableRow[] = [];
  let bytes = 0;
  let number = 0;
  for await (const line of splitLines(chunks)) {
    number++;
    const text = Buffer.from(line.bytes).toString('utf8').trim();
    if (text === '') continue;
    batch.push(toRow(number, text));
    bytes += line.bytes.length;
    if (batch.length < batchRows && bytes < batchBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

function toRow(number: number, text: string): TableRow {
  try {
    const values: unknown = longDigits.test(text)
      ? JSON.parse(text, keepDigits as Reviver)
      : JSON.parse(text);
    if (isObject(values)) return { number, values, text };
    return { number, values: {}, text, fault: 'the line is not a JSON object' };
  } catch {
    return { number, values: {}, text, fault: 'the line is not valid JSON' };
  }
}

/** The types of this version lack the source text. */
type Reviver = Parameters<typeof JSON.parse>[1];

const longDigits = /\d{16}/;

/** Keeps integers that a number cannot represent, such as 64-bit ids, as text. */
function keepDigits(_key: string, value: unknown, { source }: { source?: string }): unknown {
  const isInexact = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  return isInexact && source !== undefined && /^-?\d+$/.test(source) ? source : value;
}
