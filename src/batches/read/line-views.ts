import { truncate } from '../../base/truncate.ts';
import type { LineState } from '../../core/line.ts';
import type { LineDetail, LineQuery, LineView } from '../../wire/batch/lines.ts';
import { answerText, errorMessage, preview, promptText, textsOf } from '../../wire/batch/line-texts.ts';
import {
  answerBodyText,
  customIdOf,
  parseStored,
  requestBodyText,
  type StoredLine,
} from '../../wire/batch/stored-line.ts';
import type { LineResult } from './finished-results.ts';
import type { LineSource } from './line-source.ts';

/** Characters of an error message in a list. */
const maxMessage = 500;

/** Line with what was read of it. */
interface ReadLine {
  view: LineView;
  input: StoredLine | undefined;
  result: StoredLine | undefined;
}

/** Reads lines with their requests and results. */
export async function toLineViews(source: LineSource, lines: readonly number[]): Promise<ReadLine[]> {
  const inputs = await source.input(lines);
  const results = await source.results(lines);
  return lines.map((line, at) => toReadLine(source, line, inputs[at], results.get(line)));
}

export async function toLineDetail(source: LineSource, line: number): Promise<LineDetail> {
  const [read] = await toLineViews(source, [line]);
  const { view, input, result } = read!;
  return {
    ...view,
    input: input ? requestBodyText(input) : null,
    output: result ? answerBodyText(result) : null,
    original: null,
  };
}

/** True if a line has the custom_id and the text of the query. */
export function lineMatches({ view, input, result }: ReadLine, { customId, q }: LineQuery): boolean {
  if (customId !== undefined && view.customId !== customId) return false;
  if (q === undefined) return true;
  const wanted = q.toLowerCase();
  const has = (text: string) => text.toLowerCase().includes(wanted);
  if (view.customId !== null && has(view.customId)) return true;
  const bodies = [input?.value['body'], result?.value['response'], result?.value['error']];
  for (const text of textsOf(bodies)) if (has(text)) return true;
  return false;
}

/** @param result of the line, or its mark */
export function stateOf(
  source: LineSource,
  line: number,
  result: { code: string | null } | undefined,
): LineState {
  if (result) return result.code === null ? 'completed' : 'failed';
  return source.isInFlight(line) ? 'in_flight' : 'queued';
}

function toReadLine(
  source: LineSource,
  line: number,
  inputBytes: Uint8Array | undefined,
  found: LineResult | undefined,
): ReadLine {
  const input = inputBytes && parseStored(inputBytes);
  const result = found && parseStored(found.body);
  const response = result?.value['response'] as { body?: unknown } | null | undefined;
  const message = result ? truncate(errorMessage(result.value), maxMessage) : '';
  const ids = inputBytes ? customIdOf(inputBytes) : null;
  const view: LineView = {
    line,
    customId: ids ?? (found ? customIdOf(found.body) : null),
    state: stateOf(source, line, found),
    outcome: found ? { ...found, message } : null,
    model: source.modelOf(line),
    preview: {
      input: preview(promptText(input?.value['body'])),
      output: preview(found?.code === null ? answerText(response?.body) : message),
    },
  };
  return { view, input, result };
}
