import type { Answer } from '../answer/answer.ts';
import { noSuchRoute } from '../answer/to-api-error.ts';
import { moved, text } from './answers.ts';
import { contentsOf, llmsText } from './contents.ts';
import { layOut, pageHeaders } from './layout.ts';
import { type Page, readLibrary } from './library.ts';
import { memoizeAsync } from './memoize.ts';
import { createRenderer, escape, type PageSection } from './render.ts';
import { createSearch } from './search.ts';

/**
 * Returns the handler of paths below `/docs/`. `query` is the input of the form of `/docs/search`.
 * @param console true to link the console
 */
export async function loadSite({ console }: { console: boolean }) {
  const library = await readLibrary();
  const renderer = await createRenderer(library);
  const search = memoizeAsync(() => createSearch(library, ({ markdown }) => renderer.sections(markdown)));
  const contents = contentsOf(library);
  const rendered = new Map<Page, string>();

  return async (path: string, method: string, query: string): Promise<Answer> => {
    if (path === 'llms.txt') return text(method, llmsText(library, ''), plainHeaders);
    if (path === '../llms.txt') return text(method, llmsText(library, 'docs/'), plainHeaders);
    if (path === 'search') return text(method, await resultPage(query.trim()), pageHeaders);
    const source = path.endsWith('.md') ? library.get(path.slice(0, -'.md'.length)) : undefined;
    if (source) return text(method, source.markdown, markdownHeaders);
    if (library.has(`${path}/README`)) return moved(`${path.split('/').at(-1)}/`);
    const found = library.get(path === '' || path.endsWith('/') ? `${path}README` : path);
    if (!found) throw noSuchRoute();
    return text(method, wholePage(found), pageHeaders);
  };

  function wholePage(page: Page): string {
    const html = rendered.get(page) ?? layOutPage(page);
    rendered.set(page, html);
    return html;
  }

  function layOutPage({ name, title, markdown }: Page): string {
    const up = '../'.repeat(name.split('/').length - 1);
    const pages = linksToPages(name, up);
    const headings = linksToHeadings(renderer.sections(markdown));
    const body = renderer.render(markdown, name);
    return layOut({ title, up, pages, contents: headings, body, console });
  }

  async function resultPage(query: string): Promise<string> {
    const body = `<h1>Search</h1>\n${(await search())(query)}`;
    const pages = linksToPages('search', '');
    return layOut({ title: 'Search', up: '', pages, contents: '', body, query, console });
  }

  function linksToPages(own: string, up: string): string {
    const link = (name: string, label: string) => {
      const current = name === own ? ' aria-current="page"' : '';
      return `<li><a href="${up}${name.replace(/README$/, '') || './'}"${current}>${escape(label)}</a></li>`;
    };
    const sections = contents.map(
      ({ heading, pages }) =>
        `<h2>${escape(heading)}</h2><ul>${pages.map((each) => link(each.name, each.title)).join('')}</ul>`,
    );
    return `<ul>${link('README', 'Start page')}${link('api', 'API reference')}</ul>${sections.join('')}`;
  }
}

/** A page with fewer than three headings needs no contents. */
function linksToHeadings(sections: PageSection[]): string {
  const shown = sections.filter(({ depth }) => depth === 2 || depth === 3);
  if (shown.length < 3) return '';
  const items = shown.map(
    ({ depth, heading, anchor }) =>
      `<li${depth === 3 ? ' class="deep"' : ''}><a href="#${anchor}">${escape(heading)}</a></li>`,
  );
  return `<ul>${items.join('')}</ul>`;
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
