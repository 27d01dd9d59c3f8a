import { withoutBreaks } from '../json/line-text.ts';
import { typedEvent } from '../shared/sse.ts';
import { errorBody, errorObject, flatAndNestedError } from './error-body.ts';

/** What ends a stream that broke, by its format. */

/** No `[DONE]` follows, and both SDKs raise it. */
export function chatErrorEvent(error: unknown): string {
  return `data: ${withoutBreaks(JSON.stringify({ error: errorObject(error) }))}\n\n`;
}

/** Both majors of the official client raise it. */
export function messageErrorEvent(error: unknown, requestId: string): string {
  return typedEvent(errorBody(error, requestId, 'messages').body);
}

/**
 * Flat as one family of clients reads it and nested as the other does: only both at once is raised by all of them
 * (wire-formats.md, section 1b).
 */
export function responseErrorEvent(error: unknown, sequenceNumber: number): string {
  const event = { type: 'error', sequence_number: sequenceNumber, ...flatAndNestedError(error) };
  return typedEvent(event);
}

/** Its batch was not finished. */
export function batchErrorEvent(error: unknown): string {
  const event = { type: 'error', error: errorObject(error) };
  return typedEvent(event);
}
