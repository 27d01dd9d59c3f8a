import { bytes, jsonText } from '../answer.ts';
import type { Answer } from '../answer.ts';
import type { Incoming, Mounted } from '../route.ts';
import { noSuchRoute } from '../to-api-error.ts';
import { apiReference, apiReferenceScript, referenceHeaders } from './api-reference.ts';
import { contentsOf, llmsText } from './contents.ts';
import { layOut, pageHeaders } from './layout.ts';
import { readLibrary } from './library.ts';
import type { Library, Page } from './library.ts';
import { createRender, escape } from './render.ts';

/**
 * What people read of a server, without a key: the pages of `docs/`, each as Markdown too, their index for language models, and
 * the reference of the API. They are no operations of the API. All is read and made when it is first asked for.
 */
export function createPages(): Mounted[] {
  const show = createSite();
  return [
    page('/docs', async () => moved('docs/')),
    page('/docs/*', ({ param, method }) => show(param, method)),
    page('/docs/api', async ({ method }) => text(method, apiReference, referenceHeaders)),
    page('/docs/api/scalar.js', async ({ method, headers }) => {
      const zipped = /\bgzip\b/.test(headers['accept-encoding'] ?? '');
      return text(method, await apiReferenceScript(zipped), {
        'content-type': 'text/javascript; charset=utf-8',
        ...(zipped && { 'content-encoding': 'gzip' }),
        'cache-control': 'max-age=3600',
        vary: 'accept-encoding',
      });
    }),
    page('/llms.txt', ({ method }) => show('../llms.txt', method)),
  ];
}

function page(path: string, handle: (incoming: Incoming) => Promise<Answer>): Mounted {
  return { method: 'GET', path, access: 'open', handle };
}

/** Answers with the page that stands at a path below `/docs/`. */
function createSite(): (path: string, method: string) => Promise<Answer> {
  let loading: Promise<{ library: Library; shown: (page: Page) => string }> | undefined;

  async function load() {
    const library = await readLibrary();
    const render = await createRender(library);
    const known = new Map<Page, string>();
    const shown = (one: Page) => {
      const html = known.get(one) ?? wholePage(one, library, render(one.markdown, one.name));
      known.set(one, html);
      return html;
    };
    return { library, shown };
  }

  return async (path, method) => {
    const { library, shown } = await (loading ??= load());
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

function text(method: string, body: string | Uint8Array, headers: Record<string, string>): Answer {
  const content = Buffer.from(body);
  const all = { ...headers, 'content-length': String(content.length) };
  return bytes(method === 'HEAD' ? null : once(content), all);
}

async function* once(content: Uint8Array) {
  yield content;
}

/** Relative, so that it holds behind a proxy that puts something before the path. */
function moved(location: string): Answer {
  return jsonText(308, '{}', { location });
}
