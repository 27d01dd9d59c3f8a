import { isUtf8 } from '../../base/byte-text.ts';
import type { Fault } from '../../core/errors.ts';
import { decodeUtf8 } from '../shared/utf8.ts';
import { detectBytes, detectFirstLine, headLength } from './detect.ts';

/** Line that may be a request. */
export interface SplitLine {
  /** 1-based; blank lines count. */
  number: number;
  /** Position of the first byte in the file. */
  offset: number;
  /** Bytes without the line break. */
  length: number;
  /** Valid UTF-8, and valid only until the next line is read. */
  bytes: Uint8Array;
}

/** A line, or a fault. A fatal fault ends the file. */
export type SplitItem =
  | { line: SplitLine; fault?: undefined }
  | { fault: Fault; fatal: boolean; line?: undefined };

const newline = 0x0a;
const carriageReturn = 0x0d;
/** A larger buffer is freed after its line. */
const maxIdleBuffer = 1 << 20;
const byteOrderMark = [0xef, 0xbb, 0xbf] as const;

/**
 * Splits a file into lines at `\n`, independent of its chunks (faults B01-B09 of docs/reliability.md). CRLF and one leading
 * byte order mark are accepted, blank lines are counted and skipped, and other file types are named. Buffers at most one line.
 */
export class Splitter {
  readonly #lineBytes: number;
  /** Incomplete line: the first `#held` bytes of a buffer that grows by doubling. */
  #buffer = new Uint8Array(0);
  #held = 0;
  /** True in the rest of a line that is too long and already reported. */
  #skipping = false;
  #number = 1;
  /** Position of the first byte after the last line. */
  #offset = 0;
  #head: Uint8Array | undefined = new Uint8Array(0);
  #seenText: boolean;
  #over = false;

  /** @param options.guess false to skip the detection of other file types, for lines that are not from a file */
  constructor({ lineBytes, guess = true }: { lineBytes: number; guess?: boolean }) {
    this.#lineBytes = lineBytes;
    this.#seenText = !guess;
  }

  /** Bytes of the buffer. */
  get held(): number {
    return this.#buffer.length;
  }

  /** Returns the lines that end in this chunk. Must be read to its end before the next call. */
  *push(chunk: Uint8Array): Generator<SplitItem, void> {
    if (this.#over || chunk.length === 0) return;
    if (!this.#head) yield* this.#lines(chunk);
    else {
      const head = new Uint8Array(this.#head.length + chunk.length);
      head.set(this.#head);
      head.set(chunk, this.#head.length);
      if (head.length < headLength) this.#head = head;
      else yield* this.#begin(head);
    }
  }

  /** Returns the last line if no newline ends it. */
  *end(): Generator<SplitItem, void> {
    if (this.#over) return;
    if (this.#head) yield* this.#begin(this.#head);
    if (this.#over || this.#skipping || this.#held === 0) return;
    const item = this.#line(this.#takeHeld(new Uint8Array(0)), false);
    if (item) yield item;
  }

  *#begin(head: Uint8Array): Generator<SplitItem, void> {
    this.#head = undefined;
    const what = detectBytes(head);
    if (what) {
      yield this.#fatal('invalid_encoding', what);
      return;
    }
    const marked = startsWithMark(head);
    this.#offset = marked ? byteOrderMark.length : 0;
    yield* this.#lines(marked ? head.subarray(byteOrderMark.length) : head);
  }

  *#lines(chunk: Uint8Array): Generator<SplitItem, void> {
    let from = 0;
    const hasGoodLines = areGood(wholeLines(chunk));
    while (!this.#over) {
      const end = chunk.indexOf(newline, from);
      if (end < 0) break;
      if (end === from && this.#held === 0 && !this.#skipping) this.#skip(1);
      else if (this.#skipping) this.#skip(end + 1 - from);
      else if (this.#held + end - from > this.#lineBytes) {
        yield this.#tooLong();
        this.#skip(end + 1 - from);
      } else {
        const item = this.#line(this.#takeHeld(chunk.subarray(from, end)), true, hasGoodLines && from > 0);
        if (item) yield item;
      }
      from = end + 1;
    }
    if (!this.#over && from < chunk.length) yield* this.#hold(chunk.subarray(from));
  }

  *#hold(rest: Uint8Array): Generator<SplitItem, void> {
    if (!this.#skipping && this.#held + rest.length > this.#lineBytes) {
      yield this.#tooLong();
      this.#skipping = true;
      this.#offset += this.#held;
      this.#release();
    }
    if (this.#skipping) this.#offset += rest.length;
    else this.#append(rest);
  }

  /** Skips a line of which `rest` bytes, including the newline, are in this chunk. */
  #skip(rest: number): void {
    this.#offset += this.#held + rest;
    this.#release();
    this.#skipping = false;
    this.#number += 1;
  }

  /** Returns the whole line, valid until the next bytes are buffered. */
  #takeHeld(rest: Uint8Array): Uint8Array {
    if (this.#held === 0) return rest;
    this.#append(rest);
    const bytes = this.#buffer.subarray(0, this.#held);
    this.#release();
    return bytes;
  }

  #append(bytes: Uint8Array): void {
    const needed = this.#held + bytes.length;
    if (needed > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(needed, this.#buffer.length * 2));
      grown.set(this.#buffer.subarray(0, this.#held));
      this.#buffer = grown;
    }
    this.#buffer.set(bytes, this.#held);
    this.#held = needed;
  }

  #release(): void {
    this.#held = 0;
    if (this.#buffer.length > maxIdleBuffer) this.#buffer = new Uint8Array(0);
  }

  /** Checks a whole line; undefined if it is blank. @param isGood true if `areGood` holds */
  #line(bytes: Uint8Array, ended: boolean, isGood = false): SplitItem | undefined {
    const number = this.#number;
    const offset = this.#offset;
    this.#number += 1;
    this.#offset += bytes.length + (ended ? 1 : 0);
    // The last CRLF of a file may lack its newline.
    const content = bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes;
    if (isBlank(content)) return undefined;
    const fault = byteFault(content, offset, isGood);
    if (fault) return { fault: { line: number, ...fault }, fatal: false };
    const what = this.#seenText ? undefined : detectFirstLine(decodeUtf8(content) as string);
    this.#seenText = true;
    if (what) return this.#fatal('invalid_json_line', what, number);
    return { line: { number, offset, length: content.length, bytes: content } };
  }

  #fatal(code: 'invalid_encoding' | 'invalid_json_line', what: string, line?: number): SplitItem {
    this.#over = true;
    const way = /array/.test(what)
      ? '; use offpeak batch run --wrap for request bodies or a ChatGPT export'
      : '';
    const message = `this looks like ${what}; a batch file is UTF-8 text with one JSON object per line${way}`;
    return { fault: { ...(line !== undefined && { line }), code, message }, fatal: true };
  }

  #tooLong(): SplitItem {
    const limit = this.#lineBytes.toLocaleString('en-US');
    const message = `the line is longer than ${limit} bytes (limits.line_bytes of the server)`;
    return { fault: { line: this.#number, code: 'line_too_long', message }, fatal: false };
  }
}

/** Bytes between the first and the last newline of a chunk: the lines that are completely in it. */
function wholeLines(chunk: Uint8Array): Uint8Array {
  return chunk.subarray(chunk.indexOf(newline) + 1, chunk.lastIndexOf(newline) + 1);
}

/** True if no line has a fault in its bytes. Checking many lines together is much cheaper. */
function areGood(lines: Uint8Array): boolean {
  return lines.length > 0 && !lines.includes(carriageReturn) && isUtf8(lines);
}

/** Fault in the bytes of a line. @param offset position in the file @param isGood result of `areGood` */
function byteFault(
  content: Uint8Array,
  offset: number,
  isGood: boolean,
): Pick<Fault, 'code' | 'message'> | undefined {
  if (startsWithMark(content))
    return {
      code: 'invalid_encoding',
      message: 'a byte order mark is allowed only at the start of the file',
    };
  if (isGood) return undefined;
  const lone = content.indexOf(carriageReturn);
  if (lone >= 0) {
    const message = `the carriage return at byte ${lone} of the line is not followed by a newline; lines end with \\n or \\r\\n`;
    return { code: 'invalid_json_line', message };
  }
  if (isUtf8(content)) return undefined;
  const { invalidAt } = decodeUtf8(content) as { invalidAt: number };
  const message = `byte ${offset + invalidAt} of the file (byte ${invalidAt} of the line) is not valid UTF-8`;
  return { code: 'invalid_encoding', message };
}

function startsWithMark(bytes: Uint8Array): boolean {
  return bytes[0] === byteOrderMark[0] && byteOrderMark.every((byte, at) => bytes[at] === byte);
}

/** True if the line is blank. A lone carriage return is a fault, not a blank. */
function isBlank(bytes: Uint8Array): boolean {
  const first = bytes[0];
  if (first !== undefined && first > 0x20) return false;
  return bytes.every((byte) => byte === 0x20 || byte === 0x09);
}
