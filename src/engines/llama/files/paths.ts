import { basename, dirname, join } from 'node:path';
import { type RemoteSource, localParts } from '../../../core/model-source.ts';

/** `name-00002-of-00005.gguf`: the names that llama.cpp's gguf-split gives the files of a model. */
const pattern = /-(\d{5})-of-(\d{5})(\.gguf)$/i;

const maxParts = 1000;

/** Names of all files of the model that a file belongs to; several for a split model. */
export function partNames(name: string): string[] {
  const count = Number(pattern.exec(name)?.[2] ?? 0);
  if (count < 1 || count > maxParts) return [name];
  return Array.from({ length: count }, (_, index) =>
    name.replace(pattern, (_match, _own, of: string, end: string) => {
      return `-${String(index + 1).padStart(5, '0')}-of-${of}${end}`;
    }),
  );
}

/** Paths of all files of the model that the file at `path` belongs to. */
export function partPaths(path: string): string[] {
  return partNames(basename(path)).map((name) => join(dirname(path), name));
}

/** Sources of all files of the model that one file belongs to. */
export function partSources(source: RemoteSource): RemoteSource[] {
  if (source.kind === 'hub') return partNames(source.file).map((file) => ({ ...source, file }));
  const url = new URL(source.url);
  const [, folder = '', name = ''] = /^(.*\/)([^/]*)$/.exec(url.pathname) ?? [];
  return partNames(decodeURIComponent(name)).map((part) => {
    const one = new URL(url);
    one.pathname = folder + encodeURIComponent(part);
    return { kind: 'url', url: one.href };
  });
}

/** Path of a fetched file: below the model folder, or directly in `to`. */
export function localPath(source: RemoteSource, folder: string, to?: string): string {
  const parts = localParts(source);
  return to === undefined ? join(folder, ...parts) : join(to, parts.at(-1)!);
}

export function downloadUrl(source: RemoteSource, hubEndpoint: string): string {
  if (source.kind === 'url') return source.url;
  const parts = [...source.repo.split('/'), 'resolve', source.revision, ...source.file.split('/')];
  return `${hubEndpoint}/${parts.map(encodeURIComponent).join('/')}`;
}
