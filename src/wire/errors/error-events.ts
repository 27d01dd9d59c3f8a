import { withoutBreaks } from '../json/line-text.ts';
import { typedEvent } from '../shared/sse.ts';
import { errorBody, errorObject, flatAndNestedError } from './error-body.ts';

/** Last event of a failed chat stream. No `[DONE]` follows; both SDKs raise it. */
export function chatErrorEvent(error: unknown): string {
  return `data: ${withoutBreaks(JSON.stringify({ error: errorObject(error) }))}\n\n`;
}

/** Last event of a failed message stream. Both major versions of the official client raise it. */
export function messageErrorEvent(error: unknown, requestId: string): string {
  return typedEvent(errorBody(error, requestId, 'messages').body);
}

/** Last event of a failed response stream. Only the flat and the nested form together are raised by all clients. */
export function responseErrorEvent(error: unknown, sequenceNumber: number): string {
  const event = { type: 'error', sequence_number: sequenceNumber, ...flatAndNestedError(error) };
  return typedEvent(event);
}

/** Last event of a failed stream of batch events; the batch has not ended. */
export function batchErrorEvent(error: unknown): string {
  const event = { type: 'error', error: errorObject(error) };
  return typedEvent(event);
}
