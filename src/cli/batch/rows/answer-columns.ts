import { isObject, parseOrUndefined } from '../../../base/fields.ts';
import type { Answer } from '../run/answer.ts';
import { type AddedColumn, freeNames } from '../../table/table.ts';
import type { AnswerSchema } from './answer-schema.ts';

/** Columns that a run adds to a table. */
export interface AnswerColumns {
  columns: AddedColumn[];
  /** Cells of the columns. @param answer JSON of an `Answer`, or null without one */
  cells(answer: string | null): unknown[];
}

export interface AnswerColumnsOptions {
  schema: AnswerSchema | undefined;
  endpoint: string;
  /** Name of the column of the answer. */
  name: string;
  /** Columns of the table. */
  taken: readonly string[];
}

const details: AddedColumn[] = [
  { name: 'finish_reason', type: 'string' },
  { name: 'input_tokens', type: 'integer' },
  { name: 'output_tokens', type: 'integer' },
  { name: 'error_code', type: 'string' },
  { name: 'error_message', type: 'string' },
];

const noAnswer: Answer = {
  content: null,
  finish_reason: null,
  input_tokens: null,
  output_tokens: null,
  error_code: 'no_answer',
  error_message: 'The batch ended before this request ran.',
};

/** Columns for answers: one for the answer, or one for each property of its schema, and its details. */
export function answerColumns({ schema, endpoint, name, taken }: AnswerColumnsOptions): AnswerColumns {
  const type = endpoint === '/v1/embeddings' ? 'vector' : 'string';
  const spread = schema?.columns;
  const wanted: AddedColumn[] = [...(spread ?? [{ name, type }]), ...details];
  const names = freeNames(
    wanted.map((column) => column.name),
    taken,
  );
  return {
    columns: wanted.map((column, index) => ({ name: names[index]!, type: column.type })),
    cells(json) {
      const answer = json === null ? noAnswer : (JSON.parse(json) as Answer);
      return spread === undefined ? wholeAnswer(answer, type) : spreadAnswer(answer, spread);
    },
  };
}

function detailsOf(answer: Answer): unknown[] {
  const { finish_reason, input_tokens, output_tokens, error_code, error_message } = answer;
  return [finish_reason, input_tokens, output_tokens, error_code, error_message];
}

function wholeAnswer(answer: Answer, type: AddedColumn['type']): unknown[] {
  const { content } = answer;
  const isText = type === 'vector' || content === null || typeof content === 'string';
  return [isText ? content : JSON.stringify(content), ...detailsOf(answer)];
}

function spreadAnswer(answer: Answer, columns: readonly AddedColumn[]): unknown[] {
  const { content } = answer;
  const value = typeof content === 'string' ? parseOrUndefined(content) : undefined;
  if (isObject(value)) return [...columns.map(({ name }) => value[name] ?? null), ...detailsOf(answer)];
  const empty = columns.map(() => null);
  if (content === null || answer.error_code !== null) return [...empty, ...detailsOf(answer)];
  const start = (typeof content === 'string' ? content : JSON.stringify(content)).slice(0, maxShown);
  const fault = { error_code: 'invalid_answer', error_message: `The answer is not a JSON object: ${start}` };
  return [...empty, ...detailsOf({ ...answer, ...fault })];
}

const maxShown = 200;
