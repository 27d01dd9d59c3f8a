import { withoutBreaks } from '../json/line-text.ts';

/** Headers of every stream of server-sent events. */
export const sseHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // nginx buffers streams otherwise.
  'x-accel-buffering': 'no',
} as const;

/** Comment that every client skips; unknown event types would break some. */
export const sseKeepAlive = ': keep-alive\n\n';

/** Event with a name; chat events have none. @param data JSON on one line */
export function namedEvent(type: string, data: string): string {
  return `event: ${type}\ndata: ${withoutBreaks(data)}\n\n`;
}

/** Event named by its own `type`. Must be written whole, because some parsers drop a partial event. */
export function typedEvent(event: { type: string }): string {
  return namedEvent(event.type, JSON.stringify(event));
}
