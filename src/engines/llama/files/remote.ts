import type { RemoteSource } from '../../../core/model-source.ts';
import { GgufFault } from '../gguf/cursor.ts';
import { checkMagic } from '../gguf/header.ts';
import { TransientFault, RemoteFileChanged, ModelFileError } from './faults.ts';
import type { ModelFileDeps } from './model-file-deps.ts';
import { downloadUrl } from './paths.ts';
import type { Range } from './ranges.ts';
import { type RetryCall, withRetries } from './with-retries.ts';
import type { HttpClient, HttpResponse } from './http-client.ts';

/** A file on a server, as its first bytes showed it. */
export interface RemoteFile extends FileVersion {
  url: string;
  /** Null when the server does not say. */
  size: number | null;
  /** Whether it gives any part that is asked for. */
  ranges: boolean;
}

/** What tells a version of a file from another; null when the server does not say. */
export interface FileVersion {
  tag: string | null;
  /** The hub's checksum. */
  sha256: string | null;
}

const headBytes = 4096;

/** Looks at the first bytes: what the server tells of the file, and whether it can be a GGUF at all. */
export function probeRemoteFile(
  source: RemoteSource,
  deps: ModelFileDeps,
  call: RetryCall,
): Promise<RemoteFile> {
  const url = downloadUrl(source, deps.hub.endpoint);
  return withRetries(deps, call, () => lookOnce(url, deps.web, call.signal));
}

async function lookOnce(url: string, web: HttpClient, signal: AbortSignal): Promise<RemoteFile> {
  const answer = await web.open(url, { range: { start: 0, end: headBytes }, signal });
  const head = await readHead(answer);
  try {
    checkMagic(head);
  } catch (error) {
    throw error instanceof GgufFault ? notGguf(url, error) : error;
  }
  if (answer.headers['content-encoding'] !== undefined && answer.headers['content-encoding'] !== 'identity')
    throw new ModelFileError(`${hostOf(url)} sends the file compressed although it was asked not to.`);
  const given = answer.status === 206 ? contentRange(answer) : null;
  const size = given?.size ?? (answer.status === 200 ? contentLength(answer) : null);
  const { linked } = answer;
  if (linked.size !== null && size !== null && linked.size !== size)
    throw new ModelFileError(`The hub tells of ${linked.size} bytes, its storage has ${size}.`);
  return {
    url,
    size: size ?? linked.size,
    ranges: given?.start === 0 && given.size !== null,
    tag: versionTag(answer),
    sha256: linked.sha256,
  };
}

function notGguf(url: string, fault: GgufFault): ModelFileError {
  const hint = /\/blob\//.test(url)
    ? 'The page of a file is not the file: write hf:owner/repo/file.gguf.'
    : undefined;
  return new ModelFileError(`${url.replace(/\?.*/, '')} is not a GGUF model file: ${fault.message}.`, hint);
}

async function readHead(answer: HttpResponse): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  // An empty file has no first bytes to give.
  if (answer.status === 416) answer.leave();
  else
    for await (const chunk of answer.body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= 8 && answer.status === 200) break;
    }
  return Buffer.concat(chunks);
}

/**
 * Makes sure that an answer brings just the bytes that were asked for, of the file that was begun.
 * @throws Changed
 */
export function checkAnswer(answer: HttpResponse, wanted: Range, file: RemoteFile): void {
  try {
    const given = answer.status === 206 ? contentRange(answer) : null;
    if (answer.status === 416 || (given !== null && given.size !== file.size))
      throw new RemoteFileChanged('The file changed on the server.');
    const version = { tag: versionTag(answer), sha256: answer.linked.sha256 };
    if (isSameVersion(version, file) === false)
      throw new RemoteFileChanged('The file changed on the server.');
    if (given === null)
      throw new TransientFault(`${hostOf(file.url)} sent the whole file where a part was asked for`);
    if (given.start !== wanted.start || given.end > wanted.end)
      throw new ModelFileError(
        `${hostOf(file.url)} sent the bytes ${given.start} to ${given.end} where ${wanted.start} to ${wanted.end} were asked for.`,
      );
  } catch (error) {
    answer.leave();
    throw error;
  }
}

/**
 * Whether two looks at a file saw the same bytes; undefined where nobody can tell. The hub's checksum tells best; its storage
 * may tag the same bytes in several ways.
 */
export function isSameVersion(a: FileVersion, b: FileVersion): boolean | undefined {
  if (a.sha256 !== null && b.sha256 !== null) return a.sha256 === b.sha256;
  return a.tag === null || b.tag === null ? undefined : a.tag === b.tag;
}

function contentRange({ headers }: HttpResponse): (Range & { size: number | null }) | null {
  const [, start, last, size] =
    /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(String(headers['content-range'] ?? '')) ?? [];
  if (start === undefined) return null;
  return { start: Number(start), end: Number(last) + 1, size: size === '*' ? null : Number(size) };
}

export function contentLength({ headers }: HttpResponse): number | null {
  const length = Number(headers['content-length'] ?? Number.NaN);
  return Number.isSafeInteger(length) ? length : null;
}

/** A weak tag promises the same meaning, not the same bytes, so the time of the last change has to do. */
function versionTag({ headers }: HttpResponse): string | null {
  const tag = headers.etag === undefined ? '' : String(headers.etag);
  if (tag !== '' && !tag.startsWith('W/')) return tag;
  return headers['last-modified'] === undefined ? null : String(headers['last-modified']);
}

export function hostOf(url: string): string {
  return new URL(url).host;
}
