import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { CliError } from '../shared/exit-codes.ts';
import { readUtf8 } from './decode-text.ts';
import { freeNames, type Table, type TableRow } from './table.ts';

const batchRows = 1000;
/** Size of a record at which a wrong delimiter or an open quotation mark is assumed. */
const maxRecordCharacters = 16_777_216;
const sniffedCharacters = 65_536;

export interface CsvOptions {
  name: string;
  format: 'csv' | 'tsv';
  encoding?: string | undefined;
}

export interface CsvTable extends Table {
  delimiter: string;
}

/** Opens a CSV or TSV file, whose first record names the columns. @throws CliError */
export async function openCsv(path: string, { name, format, encoding }: CsvOptions): Promise<CsvTable> {
  const head = await firstText(path, name, encoding);
  const delimiter = format === 'tsv' ? '\t' : sniffDelimiter(head);
  const dialect = { delimiter, isOldMac: /\r(?!\n)/.test(head) && !head.includes('\n') };
  const records = () => readRecords(readUtf8(path, name, encoding), name, dialect);
  let columns: string[] | undefined;
  for await (const cells of records()) {
    columns = columnNames(cells);
    break;
  }
  if (columns === undefined) throw new CliError(`${name} is empty.`, 'Its first line must name the columns.');
  return {
    format,
    name,
    columns,
    unit: 'row',
    rows: undefined,
    delimiter,
    read: () => readRows(records(), columns),
  };
}

async function firstText(path: string, name: string, encoding: string | undefined): Promise<string> {
  for await (const bytes of readUtf8(path, name, encoding))
    return Buffer.from(bytes.subarray(0, sniffedCharacters)).toString('utf8');
  return '';
}

/** Delimiter that occurs most often in the first record, outside of quotation marks. */
export function sniffDelimiter(head: string): string {
  const counts = new Map([',', ';', '\t', '|'].map((delimiter) => [delimiter, 0]));
  let isQuoted = false;
  for (const character of head) {
    if (character === '"') isQuoted = !isQuoted;
    if (isQuoted) continue;
    if (character === '\n' || character === '\r') break;
    const count = counts.get(character);
    if (count !== undefined) counts.set(character, count + 1);
  }
  const [[best, count]] = [...counts].toSorted(([, a], [, b]) => b - a) as [[string, number]];
  return count > 0 ? best : ',';
}

/** Columns without a name are called `column_3`, and a repeated name gets a number. */
function columnNames(cells: readonly string[]): string[] {
  return freeNames(
    cells.map((cell, index) => (cell.trim() === '' ? `column_${index + 1}` : cell.trim())),
    [],
  );
}

async function* readRecords(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
  { delimiter, isOldMac }: { delimiter: string; isOldMac: boolean },
): AsyncGenerator<string[]> {
  const parser = parse({
    delimiter,
    record_delimiter: isOldMac ? ['\r'] : ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: maxRecordCharacters,
  });
  const source = Readable.from(bytes);
  source.on('error', (error) => parser.destroy(error));
  try {
    for await (const cells of source.pipe(parser) as AsyncIterable<string[]>) yield cells;
  } catch (error) {
    throw error instanceof CsvError ? explain(error, name) : error;
  } finally {
    source.destroy();
  }
}

function explain(error: CsvError, name: string): CliError {
  const line = Number(error['lines'] ?? 0);
  const isOpen = error.code === 'CSV_QUOTE_NOT_CLOSED' || error.code === 'CSV_MAX_RECORD_SIZE';
  const what = isOpen ? 'a quotation mark is not closed' : error.message;
  return new CliError(
    `${name} is not valid CSV near line ${line}: ${what}.`,
    'A quotation mark inside a quoted cell is written twice.',
  );
}

async function* readRows(
  records: AsyncIterable<string[]>,
  columns: readonly string[],
): AsyncGenerator<TableRow[]> {
  let batch: TableRow[] = [];
  let number = -1;
  for await (const cells of records) {
    number++;
    if (number === 0) continue;
    batch.push(toRow(number, cells, columns));
    if (batch.length < batchRows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function toRow(number: number, cells: readonly string[], columns: readonly string[]): TableRow {
  const values: Record<string, string> = {};
  for (let index = 0; index < columns.length; index++) values[columns[index]!] = cells[index] ?? '';
  if (cells.length === columns.length) return { number, values };
  // Spreadsheets write no cells for empty columns at the end of a row.
  if (cells.length < columns.length && cells.length > 1) return { number, values };
  const counts = `${cells.length} cell${cells.length === 1 ? '' : 's'}, but ${columns.length} columns`;
  return { number, values, fault: `the row has ${counts}` };
}
