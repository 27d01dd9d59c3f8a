import { errorObject } from '../errors/error-body.ts';
import { namedEvent } from '../sse.ts';

/**
 * A batch as a server-sent event.
 * @param json the batch; metadata may have line breaks between its tokens, and an event none
 */
export function batchEvent(json: string): string {
  return namedEvent('batch', json.replaceAll(/[\n\r]/g, ' '));
}

/** Ends a stream that broke before its batch was finished. */
export function batchErrorEvent(error: unknown): string {
  return namedEvent('error', JSON.stringify({ type: 'error', error: errorObject(error) }));
}
