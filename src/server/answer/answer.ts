import type { ApiError } from '../../core/errors.ts';

type Headers = Record<string, string>;

/** Answer of a handler, independent of the HTTP library. */
export type Answer =
  | { kind: 'json'; status: number; headers: Headers; text: string }
  | { kind: 'bytes'; status: 200 | 206; headers: Headers; bytes: AsyncIterable<Uint8Array> | null }
  | {
      kind: 'events';
      headers: Headers;
      events: AsyncIterable<string | Uint8Array>;
      failed: (error: ApiError) => string;
    };

export function json(status: number, body: object, headers: Headers = {}): Answer {
  return jsonText(status, JSON.stringify(body), headers);
}

/** JSON answer from existing text, for JSON that must stay byte for byte. */
export function jsonText(status: number, text: string, headers: Headers = {}): Answer {
  return { kind: 'json', status, headers, text };
}

/** Streamed answer; a null body answers a HEAD request. */
export function bytes(
  body: AsyncIterable<Uint8Array> | null,
  headers: Headers,
  status: 200 | 206 = 200,
): Answer {
  return { kind: 'bytes', status, headers, bytes: body };
}

/**
 * Server-sent events. Each part holds complete events, any number of them. When the source fails before its first
 * event, the answer is an ordinary error; later, `failed` returns the last event.
 */
export function events(
  source: AsyncIterable<string | Uint8Array>,
  failed: (error: ApiError) => string,
  headers: Headers = {},
): Answer {
  return { kind: 'events', headers, events: source, failed };
}
