import { flatAndNested } from '../../errors/error-body.ts';
import { namedEvent } from '../../sse.ts';
import type { ResponseEvent } from '../responses.ts';

/** A server-sent event of a response, named by its type; never to be cut, because some parsers forget half of one. */
export function responseEvent(event: ResponseEvent): string {
  return namedEvent(event.type, JSON.stringify(event));
}

/**
 * Ends a stream that broke. Flat as one family of clients reads it and nested as the other does: only both at once is
 * raised by all of them (wire-formats.md, section 1b).
 */
export function responseErrorEvent(error: unknown, sequenceNumber: number): string {
  return responseEvent({ type: 'error', sequence_number: sequenceNumber, ...flatAndNested(error) });
}
