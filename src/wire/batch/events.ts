import { errorObject } from '../errors/error-body.ts';

/**
 * A batch as a server-sent event.
 * @param json the batch; metadata may have line breaks between its tokens, and an event none
 */
export function batchEvent(json: string): string {
  return `event: batch\ndata: ${json.replaceAll(/[\n\r]/g, ' ')}\n\n`;
}

/** Ends a stream that broke before its batch was finished. */
export function batchErrorEvent(error: unknown): string {
  return `event: error\ndata: ${JSON.stringify({ type: 'error', error: errorObject(error) })}\n\n`;
}
