import { Option } from 'commander';
import { csvRecord, withoutFormula } from '../../../base/csv-record.ts';
import { type Fields, fieldsOf } from '../../../base/fields.ts';
import { parseLine, splitLines } from '../../../base/byte-lines.ts';
import type { ResultLine } from '../../../client/resources.ts';
import { CliError } from '../../shared/exit-codes.ts';

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
  const body = fieldsOf(line.response?.body);
  const usage = fieldsOf(body.usage);
  const error = fieldsOf(line.error ?? body.error);
  const cells = [
    line.custom_id,
    line.response?.status_code ?? '',
    contentOf(body),
    finishOf(body),
    usage.prompt_tokens ?? usage.input_tokens ?? '',
    usage.completion_tokens ?? usage.output_tokens ?? '',
    error.code ?? '',
    error.message ?? '',
  ];
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

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

/** Text of an answer, or its tool calls or vector. */
function contentOf(body: Fields): unknown {
  const [choice] = listOf(body.choices);
  if (choice !== undefined) {
    const message = fieldsOf(choice.message);
    return message.content ?? choice.text ?? message.tool_calls ?? message.refusal ?? '';
  }
  const [datum] = listOf(body.data);
  if (datum !== undefined) return datum.embedding ?? '';
  const parts = [...listOf(body.content), ...listOf(body.output).flatMap((item) => listOf(item.content))];
  const text = parts.flatMap((part) => (typeof part.text === 'string' ? part.text : [])).join('');
  return text === '' ? (body.output ?? body.content ?? '') : text;
}

function finishOf(body: Fields): unknown {
  return listOf(body.choices)[0]?.finish_reason ?? body.stop_reason ?? (body.output ? body.status : '') ?? '';
}
