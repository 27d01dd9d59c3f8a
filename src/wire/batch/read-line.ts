import { type BatchEndpoint, endpointOf } from '../../core/batch.ts';
import type { PreparedRequest, PreparedChat } from '../prepared/prepared-request.ts';
import type { JsonBody } from '../json/json-body.ts';
import { findMember, scanJson } from '../json/scan.ts';
import { lineFormats } from './line-formats.ts';
import { LongLine } from './long-line.ts';
import type { LineResponse } from './line-response.ts';

/** Checked line, read to be run. */
export interface BatchLine {
  customId: string;
  url: BatchEndpoint;
  body: JsonBody<Body>;
  prepared: PreparedRequest;
  /** Set if the line is a single request for a response. */
  response?: LineResponse;
}

type Body = Record<string, unknown>;

interface StoredLine {
  custom_id: string;
  url: string;
  body: Body;
  response?: LineResponse;
}

/**
 * Reads a stored line.
 * @param bytes must not change while the line is in flight, because a released body is read from them again
 * @throws SyntaxError or TypeError if the bytes are damaged
 */
export function readLine(bytes: Uint8Array): BatchLine {
  const { line, text } = parsed(bytes);
  const url = endpointOf(line.url);
  if (typeof line.custom_id !== 'string' || url === undefined)
    throw new TypeError('This is not a batch line.');
  const body = new LineBody(bytes, { value: line.body, text: bodyText(text) });
  const { custom_id: customId, response } = line;
  const prepared = prepareLine(url, body, { bytes: bytes.length, response });
  return { customId, url, body, prepared, ...(response && { response }) };
}

/** Size in bytes at which reading a line twice is better than keeping it parsed in memory until it is answered. */
const longBytes = 32 * 1024;

function prepareLine(
  url: BatchEndpoint,
  body: LineBody,
  { bytes, response }: { bytes: number; response: LineResponse | undefined },
): PreparedRequest {
  const prepare = () => lineFormats[url].prepare(body, response);
  const prepared = prepare();
  if (bytes < longBytes || prepared.kind !== 'chat') return prepared;
  // A body that needs no conversion is released by the engine.
  if (url === '/v1/chat/completions' && prepared.request() === (body as unknown)) return prepared;
  return new LongLine(body, prepared, () => prepare() as PreparedChat);
}

/** Prepares a line with another body. */
export function prepareWithBody({ url, response }: BatchLine, text: string): PreparedRequest {
  return lineFormats[url].prepare({ value: JSON.parse(text) as Body, text }, response);
}

const decoder = new TextDecoder();

function parsed(bytes: Uint8Array): { line: StoredLine; text: string } {
  const text = decoder.decode(bytes);
  return { line: JSON.parse(text) as StoredLine, text };
}

/**
 * Body of a line that can be released while the line is in flight. Hundreds of lines of up to megabytes may be, and decoded
 * and parsed they take several times their bytes, which every minor garbage collection copies.
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

/** Matches the line up to its body, if that is the last member, as in almost every file. */
const upToBody =
  /\s*\{\s*(?:"(?:custom_id|method|url)"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*){3}"body"\s*:\s*(?=\{)/y;

/** Text of the body in a valid line, found from both ends where possible, because it is long. */
function bodyText(text: string): string {
  upToBody.lastIndex = 0;
  if (upToBody.test(text)) return text.slice(upToBody.lastIndex, text.lastIndexOf('}')).trimEnd();
  const span = findMember(scanJson(text), 'body');
  if (!span) throw new TypeError('This is not a batch line.');
  return text.slice(span.start, span.end);
}
