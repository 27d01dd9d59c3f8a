import { errorBody } from '../../errors/error-body.ts';
import { namedEvent } from '../../sse.ts';
import type { MessageEvent } from '../messages.ts';

/** A server-sent event of a message stream: named, unlike those of chat. */
export function messageEvent(event: MessageEvent): string {
  return namedEvent(event.type, JSON.stringify(event));
}

/** Ends a stream that broke. Both majors of the official client raise it. */
export function messageErrorEvent(error: unknown, requestId: string): string {
  return namedEvent('error', JSON.stringify(errorBody(error, requestId, 'messages').body));
}
