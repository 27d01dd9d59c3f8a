import { createReadStream } from 'node:fs';
import { TextDecoder } from 'node:util';
import { CliError } from '../shared/exit-codes.ts';
import { readHead } from './table-format.ts';

/**
 * Text of a file as UTF-8, without a byte order mark.
 * @param encoding label of the Encoding Standard; by default UTF-8, or UTF-16 with a byte order mark
 * @throws CliError for bytes that are invalid in the encoding
 */
export async function* readUtf8(path: string, name: string, encoding?: string): AsyncGenerator<Uint8Array> {
  const label = encoding ?? encodingOfMark(readHead(path, 2)) ?? 'utf-8';
  const decoder = createDecoder(label);
  const isUtf8 = decoder.encoding === 'utf-8';
  let isFirst = true;
  let bytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    const text = decode(decoder, chunk, { name, label, bytes });
    bytes += chunk.length;
    const hasMark = isFirst && isUtf8 && chunk.subarray(0, 3).equals(mark);
    isFirst = false;
    yield isUtf8 ? (hasMark ? chunk.subarray(3) : chunk) : Buffer.from(text);
  }
  const rest = decode(decoder, undefined, { name, label, bytes });
  if (!isUtf8 && rest !== '') yield Buffer.from(rest);
}

const mark = Buffer.from('\uFEFF');

/** True for a file that begins with a UTF-8 byte order mark. */
export function hasByteOrderMark(path: string): boolean {
  return readHead(path, 3).equals(mark);
}

function createDecoder(label: string): TextDecoder {
  try {
    return new TextDecoder(label, { fatal: true });
  } catch {
    throw new CliError(
      `--encoding '${label}' is unknown.`,
      'Examples: utf-8, windows-1252, utf-16le, shift_jis.',
    );
  }
}

function decode(
  decoder: TextDecoder,
  chunk: Uint8Array | undefined,
  { name, label, bytes }: { name: string; label: string; bytes: number },
): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch {
    throw new CliError(
      `${name} is not ${label.toUpperCase()}: there is an invalid byte after ${bytes} bytes.`,
      'Save it as UTF-8 (in Excel "CSV UTF-8"), or name its encoding, such as --encoding windows-1252.',
    );
  }
}

function encodingOfMark(head: Uint8Array): string | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  return head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : undefined;
}
