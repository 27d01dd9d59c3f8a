import { isUtf8 } from 'node:buffer';
import { invalid } from '../core/errors.ts';
import { isCounted, type StoredFile } from '../core/file.ts';
import { fileParts } from '../wire/file/file-parts.ts';
import type { FileContent } from '../wire/file/file-parts.ts';
import { parseExact } from '../wire/json/exact-numbers.ts';
import { readJson } from '../wire/json/parse.ts';

export interface InlineParts {
  /** The org's file, if it is there. */
  find: (orgId: string, id: string) => Promise<StoredFile | undefined>;
  read: (file: StoredFile) => Promise<AsyncIterable<Uint8Array>>;
}

/** So many files one request may name. */
const mostFiles = 100;

/** Stands in every text that names a file. */
export const fileIdMember = '"file_id"';

/**
 * The body of a request with the content of the files it names in their places; the text itself where it names none.
 * @param mostBytes what the body may have afterwards
 * @throws ApiError `validation_error` with the place of a file that is not there, too large, or nothing for that place
 */
export async function inlineFiles(
  { find, read }: InlineParts,
  orgId: string,
  text: string,
  mostBytes: number,
): Promise<string> {
  // What is wrong with it is told by whoever reads it next.
  if (!text.includes(fileIdMember) || readJson(text).problem) return text;
  const body = parseExact(text);
  const parts = fileParts(body);
  if (parts.length === 0) return text;
  if (parts.length > mostFiles)
    throw invalid(parts[mostFiles]!.place, `a request may name ${mostFiles} files, and this is one more`);
  let room = mostBytes - text.length;
  for (const { place, fileId, put } of parts) {
    const file = await find(orgId, fileId);
    if (!file) throw invalid(place, 'no such file, or it has expired');
    if (!isCounted(file))
      throw invalid(place, `the purpose of the file is ${file.purpose}; send one of user_data`);
    room -= Math.ceil(file.bytes / 3) * 4;
    if (room < 0) throw invalid(place, `with this file the request has more than ${mostBytes} bytes`);
    const chunks: Uint8Array[] = [];
    for await (const chunk of await read(file)) chunks.push(chunk);
    const refused = put(contentOf(file, Buffer.concat(chunks)));
    if (refused !== null) throw invalid(place, refused);
  }
  return JSON.stringify(body);
}

function contentOf({ filename }: StoredFile, bytes: Buffer): FileContent {
  const begin = bytes.toString('latin1', 0, 12);
  const known = signatures.find(([, pattern]) => pattern.test(begin))?.[0];
  const text = known === undefined && isUtf8(bytes) ? bytes.toString() : null;
  const mediaType = known ?? (text === null ? 'application/octet-stream' : 'text/plain');
  return { filename, mediaType, base64: bytes.toString('base64'), text };
}

/** By how they begin: what a client says of a file's type is not kept. */
const signatures: [mediaType: string, pattern: RegExp][] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
  ['application/pdf', /^%PDF-/],
];
