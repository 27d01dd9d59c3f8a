import { isLoopback } from '../base/loopback.ts';

export type ModelSource =
  | { kind: 'path'; path: string }
  | { kind: 'url'; url: string }
  /** File of a repository on a Hugging Face hub. */
  | { kind: 'hub'; repo: string; revision: string; file: string };

export type RemoteSource = Exclude<ModelSource, { kind: 'path' }>;

/** Invalid reference: the problem and a hint. */
export interface InvalidSource {
  kind: 'wrong';
  problem: string;
  hint: string;
}

const hubHint = 'Write hf:owner/repo/file.gguf, or hf:owner/repo@revision/file.gguf.';
const urlHint = 'Name the file itself, for example https://host/model.gguf.';

/** Parses `hf:owner/repo[@revision]/file.gguf`, an `https://` URL (`http://` on loopback), or a path. */
export function readModelSource(text: string): ModelSource | InvalidSource {
  if (/^hf:/i.test(text)) return readHub(text.slice(3));
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(text)) return readUrl(text);
  return { kind: 'path', path: text };
}

function readHub(text: string): ModelSource | InvalidSource {
  const [, owner = '', name = '', revision = 'main', file = ''] =
    /^([^/@]+)\/([^/@]+)(?:@([^/]+))?\/(.+)$/.exec(text) ?? [];
  const parts = [owner, name, revision, ...file.split('/')];
  if (!parts.every(isSafePart)) return invalidSource('is not a valid hub reference', hubHint);
  if (!isGguf(file)) return invalidSource('must end in .gguf', hubHint);
  return { kind: 'hub', repo: `${owner}/${name}`, revision, file };
}

function readUrl(text: string): ModelSource | InvalidSource {
  if (!URL.canParse(text)) return invalidSource('is not a valid URL', urlHint);
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    return invalidSource('must not contain a user name or password', urlHint);
  if (!isTrusted(url))
    return invalidSource('must be an https:// URL', 'Plain http:// is allowed only for this machine.');
  const parts = pathParts(url);
  if (parts?.every(isSafePart) !== true || !isGguf(parts.at(-1) ?? ''))
    return invalidSource('must end in .gguf', urlHint);
  return { kind: 'url', url: url.href };
}

/** True for https, or http to this machine. */
export function isTrusted(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

/** Decoded path segments of a URL, without the query. */
function pathParts(url: URL): string[] | undefined {
  try {
    return decodeURIComponent(url.pathname.slice(1)).split('/');
  } catch {
    return undefined;
  }
}

/** True for a file or folder name that is valid on every system and cannot escape the folder. */
function isSafePart(part: string): boolean {
  return /^[^\p{Cc}\\/:*?"<>|]{1,200}$/u.test(part) && !/^\.{1,2}$|^\.|[. ]$/.test(part);
}

function isGguf(name: string): boolean {
  return /[^/]\.gguf$/i.test(name);
}

function invalidSource(problem: string, hint: string): InvalidSource {
  return { kind: 'wrong', problem, hint };
}

/** Path segments of a downloaded file below the model folder: its origin, then its name. */
export function localParts(source: RemoteSource): string[] {
  if (source.kind === 'hub') {
    const revision = source.revision === 'main' ? '' : `@${source.revision}`;
    return [...`${source.repo}${revision}`.split('/'), ...source.file.split('/')];
  }
  const url = new URL(source.url);
  return [url.host.replaceAll(/[^A-Za-z0-9.-]/g, '_'), ...(pathParts(url) ?? [])];
}

/** Source for display, without the query of a URL, which may hold a secret. */
export function formatSource(source: ModelSource): string {
  if (source.kind === 'path') return source.path;
  if (source.kind === 'url') return source.url.replace(/[?#].*$/, '');
  const revision = source.revision === 'main' ? '' : `@${source.revision}`;
  return `hf:${source.repo}${revision}/${source.file}`;
}
