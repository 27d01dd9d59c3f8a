import { csvRecord, withoutFormula } from '../../../../src/base/csv-record.ts';
import { isObject, parseOrUndefined } from '../../../../src/base/fields.ts';
import { answerTurns, structuredAnswer } from './turns.ts';

/** Answer as a row of a table. */
export interface AnswerRow {
  customId: string;
  /** Members of the answer, where it is a JSON object; `answer` for another text. */
  values: Readonly<Record<string, unknown>>;
}

export interface AnswerTable {
  columns: readonly string[];
  rows: readonly AnswerRow[];
  /** True if the batch has more answers than were read. */
  isPartial: boolean;
}

/** Answers and characters that are read at most, and columns of their table. */
const limits = { rows: 10_000, characters: 64 << 20, columns: 60 };
const textColumn = 'answer';

/** Reads the answers of an output file as a table: a column for each member of the objects in them. */
export async function readAnswers(output: ReadableStream<Uint8Array>): Promise<AnswerTable> {
  const rows: AnswerRow[] = [];
  const columns = new Set<string>();
  let characters = 0;
  for await (const line of linesOf(output)) {
    if (rows.length >= limits.rows || characters >= limits.characters)
      return { columns: [...columns], rows, isPartial: true };
    characters += line.length;
    const row = toRow(line);
    if (!row) continue;
    rows.push(row);
    for (const name of Object.keys(row.values)) if (columns.size < limits.columns) columns.add(name);
  }
  return { columns: [...columns], rows, isPartial: false };
}

function toRow(line: string): AnswerRow | undefined {
  const result = parseOrUndefined(line);
  if (!isObject(result)) return undefined;
  const body = (result['response'] as { body?: unknown } | null)?.body;
  const values = structuredAnswer(body) ?? {
    [textColumn]: answerTurns(body)
      .map(({ text }) => text)
      .join('\n'),
  };
  return { customId: String(result['custom_id']), values };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
  if (rest !== '') yield rest;
}

/** Text of a cell; objects and lists are JSON. */
export function cellText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The table as CSV. Cells that a spreadsheet would run as formulas are defused. */
export function toCsv({ columns, rows }: AnswerTable): string {
  const head = ['custom_id', ...columns];
  const records = rows.map(({ customId, values }) => [
    customId,
    ...columns.map((name) => cellText(values[name])),
  ]);
  return [head, ...records].map((cells) => csvRecord(cells.map(withoutFormula))).join('');
}
