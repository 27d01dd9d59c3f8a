import { isUtf8 } from 'node:buffer';
import { isBlobLost } from '../core/blob-error.ts';
import { ApiError, invalid } from '../core/errors.ts';
import { countsTowardQuota, type StoredFile } from '../core/file.ts';
import { type FileContent, fileParts } from '../wire/file/file-parts.ts';
import { parseExact } from '../wire/json/exact-numbers.ts';
import { readJson } from '../wire/json/parse.ts';

export interface InlineDeps {
  /** The org's file, if it is there. */
  find: (orgId: string, id: string) => Promise<StoredFile | undefined>;
  read: (file: StoredFile) => Promise<AsyncIterable<Uint8Array>>;
}

/** Makes room for so many bytes, or throws. */
export type Hold = (bytes: number) => void | Promise<void>;

/** So many files one request may name. */
const maxFiles = 100;

/** What `Files.inline` promises, where files are kept for it. */
export async function inlineFiles(
  { find, read }: InlineDeps,
  orgId: string,
  text: string,
  mostBytes: number,
  hold: Hold,
): Promise<string> {
  // What is wrong with it is told by whoever reads it next.
  if (!text.includes('"file_id"') || readJson(text).problem) return text;
  const body = parseExact(text);
  const parts = fileParts(body);
  if (parts.length === 0) return text;
  if (parts.length > maxFiles)
    throw invalid(parts[maxFiles]!.path, `a request may name ${maxFiles} files, and this is one more`);
  const tooLarge = (place: string) =>
    invalid(place, `with this file the request has more than ${mostBytes} bytes`);
  const files: StoredFile[] = [];
  let room = mostBytes - Buffer.byteLength(text);
  for (const { path: place, fileId } of parts) {
    const file = await there(place, fileId);
    if (!countsTowardQuota(file))
      throw invalid(place, `the purpose of the file is ${file.purpose}; send one of user_data`);
    room -= base64Bytes(file);
    if (room < 0) throw tooLarge(place);
    files.push(file);
  }
  await hold(mostBytes - room);
  for (const [at, { path: place, fileId, put, isText }] of parts.entries()) {
    const file = files[at]!;
    const bytes = await whole(file).catch(async (error: unknown) => {
      if (!isBlobLost(error)) throw error;
      // Deleted since it was found, it is as if it had never been there.
      await there(place, fileId);
      const message = `${place}: what was stored of this file is damaged`;
      throw new ApiError('storage_damaged', message, { param: place, cause: error });
    });
    if (isText) room -= Math.max(0, escapedBytes(bytes) - base64Bytes(file));
    if (room < 0) throw tooLarge(place);
    const refused = put(contentOf(file, bytes));
    if (refused !== null) throw invalid(place, refused);
  }
  const inlined = JSON.stringify(body);
  // What stands around the files is counted here alone.
  if (Buffer.byteLength(inlined) > mostBytes) throw tooLarge(parts.at(-1)!.path);
  return inlined;

  async function there(place: string, fileId: string): Promise<StoredFile> {
    const file = await find(orgId, fileId);
    if (!file) throw invalid(place, 'no such file, or it has expired');
    return file;
  }

  async function whole(file: StoredFile): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of await read(file)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
}

const base64Bytes = ({ bytes }: StoredFile) => Math.ceil(bytes / 3) * 4;

/** The bytes of a text as a JSON string, at most. */
function escapedBytes(text: Buffer): number {
  let bytes = text.length;
  for (const byte of text)
    if (byte === 0x22 || byte === 0x5c || (byte >= 0x08 && byte <= 0x0d && byte !== 0x0b)) bytes++;
    else if (byte < 0x20) bytes += 5;
  return bytes;
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
