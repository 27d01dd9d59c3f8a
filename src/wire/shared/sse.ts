import { withoutBreaks } from '../json/line-text.ts';

/** The headers of every stream of server-sent events. */
export const sseHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // nginx holds streams back otherwise.
  'x-accel-buffering': 'no',
} as const;

/** A comment, which every client skips; unknown event types would break some. */
export const sseKeepAlive = ': keep-alive\n\n';

/** An event with a name, which those of chat have not. @param data JSON on one line */
export function namedEvent(type: string, data: string): string {
  return `event: ${type}\ndata: ${withoutBreaks(data)}\n\n`;
}

/** An event that tells its type itself, named by it; never to be cut, because some parsers forget half of one. */
export function typedEvent(event: { type: string }): string {
  return namedEvent(event.type, JSON.stringify(event));
}
