import type { BatchEndpoint } from '../../core/batch.ts';
import type { JsonBody } from '../json/json-body.ts';
import { memberOf, scanJson } from '../json/scan.ts';

/** A line that was checked at upload, read again to be run. */
export interface BatchLine {
  customId: string;
  url: BatchEndpoint;
  /** The body parsed, and its text as it came. */
  body: JsonBody<Record<string, unknown>>;
}

/**
 * Reads a line that obeyed the rules when it was stored.
 * @throws SyntaxError or TypeError when the bytes are no longer those
 */
export function readLine(text: string): BatchLine {
  const line = JSON.parse(text) as { custom_id: string; url: BatchEndpoint; body: Record<string, unknown> };
  const span = memberOf(scanJson(text), 'body');
  if (!span || typeof line.custom_id !== 'string') throw new TypeError('This is not a batch line.');
  return {
    customId: line.custom_id,
    url: line.url,
    body: { value: line.body, text: text.slice(span.start, span.end) },
  };
}
