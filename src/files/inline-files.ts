import { isUtf8 } from 'node:buffer';
import { isBlobLost } from '../core/blob-error.ts';
import { ApiError, invalid } from '../core/errors.ts';
import { countsTowardQuota, type StoredFile } from '../core/file.ts';
import { type FileContent, fileParts } from '../wire/file/file-parts.ts';
import { parseExact } from '../wire/json/exact-numbers.ts';
import { readJson } from '../wire/json/parse.ts';

export interface InlineDeps {
  /** Finds a file of the org. */
  find: (orgId: string, id: string) => Promise<StoredFile | undefined>;
  read: (file: StoredFile) => Promise<AsyncIterable<Uint8Array>>;
}

/** Reserves memory for this many bytes, or throws. */
export type Hold = (bytes: number) => void | Promise<void>;

const maxFiles = 100;

/** Implements `Files.inline`. */
export async function inlineFiles(
  { find, read }: InlineDeps,
  orgId: string,
  text: string,
  maxBytes: number,
  hold: Hold,
): Promise<string> {
  // Invalid JSON is reported by the next reader.
  if (!text.includes('"file_id"') || readJson(text).problem) return text;
  const body = parseExact(text);
  const parts = fileParts(body);
  if (parts.length === 0) return text;
  if (parts.length > maxFiles)
    throw invalid(parts[maxFiles]!.path, `a request may name at most ${maxFiles} files`);
  const tooLarge = (path: string) => invalid(path, `with this file the request exceeds ${maxBytes} bytes`);
  const files: StoredFile[] = [];
  let room = maxBytes - Buffer.byteLength(text);
  for (const { path, fileId } of parts) {
    const file = await findFile(path, fileId);
    if (!countsTowardQuota(file))
      throw invalid(path, `expected a file with the purpose user_data, not ${file.purpose}`);
    room -= base64Bytes(file);
    if (room < 0) throw tooLarge(path);
    files.push(file);
  }
  await hold(maxBytes - room);
  for (const [at, { path, fileId, put, isText }] of parts.entries()) {
    const file = files[at]!;
    const bytes = await readWhole(file).catch(async (error: unknown) => {
      if (!isBlobLost(error)) throw error;
      // The file may have been deleted meanwhile.
      await findFile(path, fileId);
      const message = `${path}: the stored content of this file is damaged`;
      throw new ApiError('storage_damaged', message, { param: path, cause: error });
    });
    if (isText) room -= Math.max(0, escapedBytes(bytes) - base64Bytes(file));
    if (room < 0) throw tooLarge(path);
    const fault = put(contentOf(file, bytes));
    if (fault !== null) throw invalid(path, fault);
  }
  const inlined = JSON.stringify(body);
  // Includes the JSON around the files.
  if (Buffer.byteLength(inlined) > maxBytes) throw tooLarge(parts.at(-1)!.path);
  return inlined;

  async function findFile(path: string, fileId: string): Promise<StoredFile> {
    const file = await find(orgId, fileId);
    if (!file) throw invalid(path, 'no such file, or it has expired');
    return file;
  }

  async function readWhole(file: StoredFile): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of await read(file)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
}

const base64Bytes = ({ bytes }: StoredFile) => Math.ceil(bytes / 3) * 4;

/** Upper bound of the bytes of a text as a JSON string. */
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

/** First bytes by media type; the type that the client claims is not stored. */
const signatures: [mediaType: string, pattern: RegExp][] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
  ['application/pdf', /^%PDF-/],
];
