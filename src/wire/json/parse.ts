import { truncate } from '../../base/truncate.ts';
import { ApiError } from '../../core/errors.ts';
import { locateJsonFault } from './locate-fault.ts';
import { type JsonScan, type ScanOptions, scanJson } from './scan.ts';

/** Reason for rejecting a text as JSON. */
export interface JsonProblem {
  code: 'invalid_json' | 'too_deep' | 'too_many_nodes' | 'duplicate_key';
  /** Reason without the position. */
  message: string;
  /** UTF-16 position. */
  at: number;
}

export type JsonReading = { value: unknown; scan: JsonScan; problem?: undefined } | { problem: JsonProblem };

/**
 * Scans, then parses. Limits are checked before any memory is spent; a syntax error takes precedence over a duplicate key.
 * `__proto__` is data like any other key: `JSON.parse` makes it an own property, and nothing here merges objects.
 */
export function readJson(text: string, options: ScanOptions = {}): JsonReading {
  const scan = scanJson(text, options);
  if (scan.limit) {
    const { code, at } = scan.limit;
    const { maxDepth = 64, maxNodes = 200_000 } = options;
    const max =
      code === 'too_deep' ? `${maxDepth} levels of nesting` : `${maxNodes.toLocaleString('en-US')} values`;
    return { problem: { code, message: `more than ${max}`, at } };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: { code: 'invalid_json', ...locateJsonFault(text) } };
  }
  if (scan.duplicate) {
    const { key, at } = scan.duplicate;
    return { problem: { code: 'duplicate_key', message: `duplicate key ${quoted(key)}`, at } };
  }
  return { value, scan };
}

/**
 * Reads a request body.
 * @param options.what name of the text in messages: 'The request body'
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422), with line and column
 */
export function parseJson(
  text: string,
  options: ScanOptions & { what: string },
): { value: unknown; scan: JsonScan } {
  const reading = readJson(text, options);
  if (!reading.problem) return reading;
  const { code, message, at } = reading.problem;
  const errorCode = code === 'too_deep' || code === 'duplicate_key' ? code : 'validation_error';
  const sentence = `${options.what} cannot be read at ${lineAndColumn(text, at)}: ${message}.`;
  throw new ApiError(errorCode, sentence, { faults: [{ code: errorCode, message: sentence }] });
}

/** `line 3, column 7`, in characters from 1. */
export function lineAndColumn(text: string, at: number): string {
  const before = text.slice(0, at);
  const lineStart = before.lastIndexOf('\n') + 1;
  const line = before.split('\n').length;
  return `line ${line}, column ${at - lineStart + 1}`;
}

/** Quotes a client's text for a message: truncated, and printable everywhere. */
export function quoted(text: string, limit = 60): string {
  return JSON.stringify(truncate(text, limit, '…'));
}
