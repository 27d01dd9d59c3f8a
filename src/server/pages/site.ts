import type { Answer } from '../answer.ts';
import { noSuchRoute } from '../to-api-error.ts';
import { moved, text } from './answers.ts';
import { contentsOf, llmsText } from './contents.ts';
import { layOut, pageHeaders } from './layout.ts';
import { type Library, type Page, readLibrary } from './library.ts';
import { createRender, escape } from './render.ts';

/** Answers with what stands at a path below `/docs/`. */
export async function loadSite(): Promise<(path: string, method: string) => Answer> {
  const library = await readLibrary();
  const render = await createRender(library);
  const known = new Map<Page, string>();
  const shown = (one: Page) => {
    const html = known.get(one) ?? wholePage(one, library, render(one.markdown, one.name));
    known.set(one, html);
    return html;
  };

  return (path, method) => {
    if (path === 'llms.txt') return text(method, llmsText(library, ''), plainHeaders);
    if (path === '../llms.txt') return text(method, llmsText(library, 'docs/'), plainHeaders);
    const source = path.endsWith('.md') ? library.get(path.slice(0, -'.md'.length)) : undefined;
    if (source) return text(method, source.markdown, markdownHeaders);
    if (library.has(`${path}/README`)) return moved(`${path.split('/').at(-1)}/`);
    const found = library.get(path === '' || path.endsWith('/') ? `${path}README` : path);
    if (!found) throw noSuchRoute();
    return text(method, shown(found), pageHeaders);
  };
}

function wholePage({ name: own, title }: Page, library: Library, body: string): string {
  const up = '../'.repeat(own.split('/').length - 1);
  const link = (name: string, label: string) => {
    const current = name === own ? ' aria-current="page"' : '';
    return `<li><a href="${up}${name.replace(/README$/, '') || './'}"${current}>${escape(label)}</a></li>`;
  };
  const sections = contentsOf(library).map(
    ({ heading, pages }) =>
      `<h2>${escape(heading)}</h2><ul>${pages.map((each) => link(each.name, each.title)).join('')}</ul>`,
  );
  const nav = `<ul>${link('README', 'Offpeak')}${link('api', 'API reference')}</ul>${sections.join('')}`;
  return layOut({ title, nav, body });
}

const plainHeaders = textHeaders('text/plain');
const markdownHeaders = textHeaders('text/markdown');

function textHeaders(type: string): Record<string, string> {
  return {
    'content-type': `${type}; charset=utf-8`,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache',
  };
}
