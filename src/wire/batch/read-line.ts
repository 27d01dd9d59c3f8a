import type { BatchEndpoint } from '../../core/batch.ts';
import type { ChatBody } from '../chat/body.ts';
import { canonicalChat } from '../chat/canonical.ts';
import type { ChatResponse } from '../chat/chat.ts';
import { presentChat } from '../chat/function-answer.ts';
import type { JsonBody } from '../json/json-body.ts';
import { memberOf, scanJson } from '../json/scan.ts';
import { movedError } from '../places.ts';

/** A line that was checked at upload, read again to be run. */
export interface BatchLine {
  customId: string;
  url: BatchEndpoint;
  /** The body parsed, and its text: as it came, but for what is not canonical. */
  body: JsonBody<Record<string, unknown>>;
  /** The answer in the words of the line. */
  present: (answer: object) => object;
  /** An error in the places of the line's body. */
  moved: (error: unknown) => unknown;
}

/**
 * Reads a line that obeyed the rules when it was stored.
 * @throws SyntaxError or TypeError when the bytes are no longer those
 */
export function readLine(text: string): BatchLine {
  const line = JSON.parse(text) as { custom_id: string; url: BatchEndpoint; body: Record<string, unknown> };
  const span = memberOf(scanJson(text), 'body');
  if (!span || typeof line.custom_id !== 'string') throw new TypeError('This is not a batch line.');
  const body = { value: line.body, text: text.slice(span.start, span.end) };
  return { customId: line.custom_id, url: line.url, ...readers[line.url](body) };
}

type Read = Pick<BatchLine, 'body' | 'present' | 'moved'>;

const readers: Record<BatchEndpoint, (body: BatchLine['body']) => Read> = {
  '/v1/embeddings': (body) => ({ body, present: (answer) => answer, moved: (error) => error }),
  '/v1/chat/completions'(given) {
    const { body, places, hasFunctions } = canonicalChat(given as JsonBody<ChatBody>);
    return {
      body,
      present: (answer) => presentChat(answer as ChatResponse, hasFunctions),
      moved: (error) => movedError(error, body.value, places),
    };
  },
};
