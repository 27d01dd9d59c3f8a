import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageFolder } from '../../base/program.ts';

/** The pages of `docs/`, which are next to `src/` in a checkout and next to `dist/` in the package. */
const folder = join(packageFolder, 'docs');

/** A page of `docs/`, as GitHub shows it too. */
export interface Page {
  /** Its path under `docs/`, without `.md`: `batches`, `engines/README`. */
  name: string;
  markdown: string;
  /** Its first heading. */
  title: string;
  /** First sentence below that, in a decision below its own heading, without markup. */
  summary: string;
}

/** All pages by name, read once. */
export type Library = ReadonlyMap<string, Page>;

export async function readLibrary(): Promise<Library> {
  const paths = (await readdir(folder, { recursive: true })).map((path) => path.replaceAll('\\', '/'));
  const names = paths.filter((path) => path.endsWith('.md')).map((path) => path.slice(0, -'.md'.length));
  const pages = names
    .toSorted()
    .map(async (name) => pageOf(name, await readFile(join(folder, `${name}.md`), 'utf8')));
  return new Map((await Promise.all(pages)).map((page) => [page.name, page]));
}

function pageOf(name: string, markdown: string): Page {
  const [, title = name, rest = ''] = /^# (.*)\n([\s\S]*)/m.exec(markdown) ?? [];
  // The decision sums up such a page; its context comes first.
  const body = rest.split(/^## Decision$/m)[1] ?? rest;
  const paragraph = /^[A-Za-z`*[].*(?:\n.+)*/m.exec(body)?.[0] ?? '';
  return { name, markdown, title: plain(title), summary: firstSentence(plain(paragraph)) };
}

function firstSentence(text: string): string {
  return /^.*?[.:](?= [A-Z]|$)/.exec(text)?.[0].replace(/:$/, '.') ?? text;
}

/** A line of Markdown as it reads: without links, emphasis and marks of code. */
export function plain(text: string): string {
  return text
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
