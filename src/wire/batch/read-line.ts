import type { BatchEndpoint } from '../../core/batch.ts';
import type { Asked } from '../asked.ts';
import { memberOf, scanJson } from '../json/scan.ts';
import { lineFormats } from './line-formats.ts';

/** A line that was checked at upload, read again to be run. */
export interface BatchLine {
  customId: string;
  /** Its body, ready to be answered. */
  asked: Asked;
  /** The same of another text of the body. */
  askedAs: (text: string) => Asked;
  /** The body as it stands there. */
  text: string;
}

/**
 * Reads a line that obeyed the rules when it was stored.
 * @throws SyntaxError or TypeError when the bytes are no longer those
 */
export function readLine(text: string): BatchLine {
  const line = JSON.parse(text) as { custom_id: string; url: BatchEndpoint; body: Record<string, unknown> };
  if (typeof line.custom_id !== 'string') throw new TypeError('This is not a batch line.');
  const body = { value: line.body, text: bodyText(text) };
  const format = lineFormats[line.url];
  return {
    customId: line.custom_id,
    asked: format.asked(body),
    askedAs: (other) => format.asked({ value: JSON.parse(other) as Record<string, unknown>, text: other }),
    text: body.text,
  };
}

/** What stands before a body that comes last, as in almost every file. */
const othersFirst =
  /\s*\{\s*(?:"(?:custom_id|method|url)"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*){3}"body"\s*:\s*(?=\{)/y;

/** The body as it stands in a line that was parsed: found from both ends where that will do, since it is long. */
function bodyText(text: string): string {
  othersFirst.lastIndex = 0;
  if (othersFirst.test(text)) return text.slice(othersFirst.lastIndex, text.lastIndexOf('}')).trimEnd();
  const span = memberOf(scanJson(text), 'body');
  if (!span) throw new TypeError('This is not a batch line.');
  return text.slice(span.start, span.end);
}
