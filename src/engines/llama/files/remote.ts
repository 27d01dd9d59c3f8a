import type { RemoteSource } from '../../../core/model-source.ts';
import { GgufFault } from '../gguf/cursor.ts';
import { checkMagic } from '../gguf/header.ts';
import { TransientFault, RemoteFileChanged, ModelFileError } from './faults.ts';
import type { ModelFileDeps } from './model-file-deps.ts';
import { downloadUrl } from './paths.ts';
import type { Range } from './ranges.ts';
import { type RetryCall, withRetries } from './with-retries.ts';
import type { HttpClient, HttpResponse } from './http-client.ts';

/** A file on a server, as the answer to a request for its first bytes described it. */
export interface RemoteFile extends FileVersion {
  url: string;
  /** Null if the server does not report it. */
  size: number | null;
  /** True if the server supports range requests. */
  ranges: boolean;
}

/** Identifies a version of a file; null where the server does not report it. */
export interface FileVersion {
  tag: string | null;
  /** The hub's checksum. */
  sha256: string | null;
}

const headBytes = 4096;

/** Fetches the first bytes, to learn what the server reports about the file and to check that it is a GGUF file. */
export function probeRemoteFile(source: RemoteSource, deps: ModelFileDeps, call: RetryCall) {
  const url = downloadUrl(source, deps.hub.endpoint);
  return withRetries(deps, call, () => probeOnce(url, deps.web, call.signal));
}

async function probeOnce(url: string, web: HttpClient, signal: AbortSignal): Promise<RemoteFile> {
  const answer = await web.open(url, { range: { start: 0, end: headBytes }, signal });
  try {
    checkMagic(await readHead(answer));
  } catch (error) {
    throw error instanceof GgufFault ? notGguf(url, error) : error;
  }
  if (answer.headers['content-encoding'] !== undefined && answer.headers['content-encoding'] !== 'identity')
    throw new ModelFileError(
      `${hostOf(url)} sends the file compressed, although uncompressed bytes were requested.`,
    );
  const given = answer.status === 206 ? contentRange(answer) : null;
  const size = given?.size ?? (answer.status === 200 ? contentLength(answer) : null);
  const { linked } = answer;
  if (linked.size !== null && size !== null && linked.size !== size)
    throw new ModelFileError(`The hub reports ${linked.size} bytes, but its storage has ${size}.`);
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
    ? 'This is the web page of the file: use hf:owner/repo/file.gguf.'
    : undefined;
  return new ModelFileError(`${url.replace(/\?.*/, '')} is not a GGUF model file: ${fault.message}.`, hint);
}

async function readHead(answer: HttpResponse): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  // The answer for an empty file.
  if (answer.status === 416) answer.discard();
  else
    for await (const chunk of answer.body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= 8 && answer.status === 200) break;
    }
  return Buffer.concat(chunks);
}

/** Checks that a response has the requested bytes of the same version of the file. @throws RemoteFileChanged */
export function checkAnswer(answer: HttpResponse, wanted: Range, file: RemoteFile): void {
  try {
    const given = answer.status === 206 ? contentRange(answer) : null;
    const version = { tag: versionTag(answer), sha256: answer.linked.sha256 };
    const isOther = (given !== null && given.size !== file.size) || isSameVersion(version, file) === false;
    if (answer.status === 416 || isOther) throw new RemoteFileChanged('The file changed on the server.');
    if (given === null)
      throw new TransientFault(`${hostOf(file.url)} sent the whole file instead of the requested range`);
    if (given.start !== wanted.start || given.end > wanted.end)
      throw new ModelFileError(
        `${hostOf(file.url)} sent the bytes ${given.start} to ${given.end} instead of ${wanted.start} to ${wanted.end}.`,
      );
  } catch (error) {
    answer.discard();
    throw error;
  }
}

/** True if two requests saw the same bytes; undefined if unknown. Checksums first: the hub's storage may use several tags. */
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

/** Strong entity tag, else the time of the last change: a weak tag does not identify the bytes. */
function versionTag({ headers }: HttpResponse): string | null {
  const tag = headers.etag === undefined ? '' : String(headers.etag);
  if (tag !== '' && !tag.startsWith('W/')) return tag;
  return headers['last-modified'] === undefined ? null : String(headers['last-modified']);
}

export function hostOf(url: string): string {
  return new URL(url).host;
}
