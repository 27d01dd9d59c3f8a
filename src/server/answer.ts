import type { ApiError } from '../core/errors.ts';

type Headers = Record<string, string>;

/** What a handler answers, as a value: the same on any HTTP server. */
export type Answer =
  | { kind: 'json'; status: number; headers: Headers; text: string }
  | { kind: 'bytes'; status: 200 | 206; headers: Headers; bytes: AsyncIterable<Uint8Array> | null }
  | { kind: 'events'; events: AsyncIterable<string>; failed: (error: ApiError) => string };

/** A JSON body. */
export function json(status: number, body: object, headers: Headers = {}): Answer {
  return jsonText(status, JSON.stringify(body), headers);
}

/** A JSON body that is text already, because it holds JSON which must stay as it came. */
export function jsonText(status: number, text: string, headers: Headers = {}): Answer {
  return { kind: 'json', status, headers, text };
}

/** A body that is streamed; null answers a HEAD request without opening it. */
export function bytes(
  body: AsyncIterable<Uint8Array> | null,
  headers: Headers,
  status: 200 | 206 = 200,
): Answer {
  return { kind: 'bytes', status, headers, bytes: body };
}

/**
 * Server-sent events, any number of them at a time, each complete with its empty line. When the source fails before its
 * first event, the answer is an ordinary error; later `failed` makes the last event.
 */
export function events(source: AsyncIterable<string>, failed: (error: ApiError) => string): Answer {
  return { kind: 'events', events: source, failed };
}
