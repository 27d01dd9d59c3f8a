import type { BatchEndpoint } from '../../core/batch.ts';
import type { PreparedRequest, PreparedChat } from '../prepared/prepared-request.ts';
import type { JsonBody } from '../json/json-body.ts';
import { findMember, scanJson } from '../json/scan.ts';
import { lineFormats } from './line-formats.ts';
import { LongLine } from './long-line.ts';

/** A line that was checked at upload, read again to be run. */
export interface BatchLine {
  customId: string;
  url: BatchEndpoint;
  body: JsonBody<Body>;
  /** The body, ready to be answered. */
  prepared: PreparedRequest;
}

type Body = Record<string, unknown>;

interface StoredLine {
  custom_id: string;
  url: BatchEndpoint;
  body: Body;
}

/**
 * Reads a line that obeyed the rules when it was stored.
 * @param bytes stay as they are for as long as the line is in hand: a body that was let go is read of them once more
 * @throws SyntaxError or TypeError when the bytes are no longer those
 */
export function readLine(bytes: Uint8Array): BatchLine {
  const { line, text } = parsed(bytes);
  if (typeof line.custom_id !== 'string') throw new TypeError('This is not a batch line.');
  const body = new LineBody(bytes, { value: line.body, text: bodyText(text) });
  const { url } = line;
  return { customId: line.custom_id, url, body, prepared: prepareLine(url, body, bytes.length) };
}

/** From here on it is worth the time to read a line twice rather than to have all of it in memory until it is answered. */
const longBytes = 32 * 1024;

function prepareLine(url: BatchEndpoint, body: LineBody, length: number): PreparedRequest {
  const asked = lineFormats[url].prepare(body);
  if (length < longBytes || asked.kind !== 'chat') return asked;
  // What goes on as it came is let go by whoever sends it.
  if (url === '/v1/chat/completions' && asked.request() === (body as unknown)) return asked;
  return new LongLine(body, asked, () => lineFormats[url].prepare(body) as PreparedChat);
}

/** The same line, if the text of its body were this. */
export function prepareWithBody({ url }: BatchLine, text: string): PreparedRequest {
  return lineFormats[url].prepare({ value: JSON.parse(text) as Body, text });
}

const decoder = new TextDecoder();

function parsed(bytes: Uint8Array): { line: StoredLine; text: string } {
  const text = decoder.decode(bytes);
  return { line: JSON.parse(text) as StoredLine, text };
}

/**
 * What a line asks for. A line in flight needs it no more, and there may be hundreds, of up to megabytes each: decoded and parsed
 * they take several times what they have as bytes, and every collection of young garbage copies it.
 */
class LineBody implements JsonBody<Body> {
  readonly #bytes: Uint8Array;
  #read: Pick<JsonBody<Body>, 'value' | 'text'> | null;

  constructor(bytes: Uint8Array, read: Pick<JsonBody<Body>, 'value' | 'text'>) {
    this.#bytes = bytes;
    this.#read = read;
  }

  get value(): Body {
    return this.#again().value;
  }

  get text(): string {
    return this.#again().text;
  }

  release(): void {
    this.#read = null;
  }

  #again(): Pick<JsonBody<Body>, 'value' | 'text'> {
    if (this.#read) return this.#read;
    const { line, text } = parsed(this.#bytes);
    return (this.#read = { value: line.body, text: bodyText(text) });
  }
}

/** What stands before a body that comes last, as in almost every file. */
const othersFirst =
  /\s*\{\s*(?:"(?:custom_id|method|url)"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*){3}"body"\s*:\s*(?=\{)/y;

/** The body as it stands in a line that was parsed: found from both ends where that will do, since it is long. */
function bodyText(text: string): string {
  othersFirst.lastIndex = 0;
  if (othersFirst.test(text)) return text.slice(othersFirst.lastIndex, text.lastIndexOf('}')).trimEnd();
  const span = findMember(scanJson(text), 'body');
  if (!span) throw new TypeError('This is not a batch line.');
  return text.slice(span.start, span.end);
}
