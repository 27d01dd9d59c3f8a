import { join } from 'node:path';
import { type RemoteSource, localParts } from '../../../core/model-source.ts';
import { allParts } from './split.ts';

/** The sources of all files of the model that one file belongs to. */
export function partSources(source: RemoteSource): RemoteSource[] {
  if (source.kind === 'hub') return allParts(source.file).map((file) => ({ ...source, file }));
  const url = new URL(source.url);
  const [, folder = '', name = ''] = /^(.*\/)([^/]*)$/.exec(url.pathname) ?? [];
  return allParts(decodeURIComponent(name)).map((part) => {
    const one = new URL(url);
    one.pathname = folder + encodeURIComponent(part);
    return { kind: 'url', url: one.href };
  });
}

export function localPath(source: RemoteSource, folder: string, to?: string): string {
  const parts = localParts(source);
  return to === undefined ? join(folder, ...parts) : join(to, parts.at(-1)!);
}

/** Where a source's bytes are asked for. */
export function urlOf(source: RemoteSource, hubEndpoint: string): string {
  if (source.kind === 'url') return source.url;
  const parts = [...source.repo.split('/'), 'resolve', source.revision, ...source.file.split('/')];
  return `${hubEndpoint}/${parts.map(encodeURIComponent).join('/')}`;
}
