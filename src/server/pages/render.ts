import { type Library, plain } from './library.ts';

/** What the Markdown of the page `from` becomes: HTML, of which nothing was HTML before. */
export type Render = (markdown: string, from: string) => string;

/** Loaded when the first page is asked for: a start should not wait for it. */
export async function createRender(library: Pick<Library, 'has'>): Promise<Render> {
  const { Marked } = await import('marked');
  let taken = new Map<string, number>();
  let page = '';
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth, text }) {
        const id = unique(anchorOf(text), taken);
        const link = `<a class="anchor" href="#${id}" aria-hidden="true" tabindex="-1">#</a>`;
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)} ${link}</h${depth}>\n`;
      },
      html: ({ text }) => (/^\s*<!--[\s\S]*-->\s*$/.test(text) ? '' : escape(text)),
      image: ({ text }) => escape(text),
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const target = servedLink(href, page, library);
        return target === undefined ? text : `<a href="${escape(target)}">${text}</a>`;
      },
    },
  });
  return (markdown, from) => {
    taken = new Map();
    page = from;
    return marked.parse(markdown, { async: false });
  };
}

/**
 * Where a link on the page `from` leads on the server, whose pages have no `.md` and whose README is the folder, relative as it
 * is; undefined for what is served nowhere: files outside `docs/`, and schemes other than HTTP.
 */
export function servedLink(href: string, from: string, library: Pick<Library, 'has'>): string | undefined {
  if (/^(https?:\/\/|#)/.test(href)) return href;
  const { pathname, protocol } = new URL(href, `http://docs/docs/${from}`);
  const [, name = ''] = /^\/docs\/(.+?)(?:\.md|\/?)$/.exec(pathname) ?? [];
  const [path = '', anchor] = href.split('#', 2);
  if (protocol !== 'http:' || !(library.has(name) || library.has(`${name}/README`))) return undefined;
  const served = path.endsWith('.md') ? path.replace(/(README)?\.md$/, '') : path.replace(/\/?$/, '/');
  return (served || './') + (anchor === undefined ? '' : `#${anchor}`);
}

/** The anchor that GitHub gives to a heading. */
export function anchorOf(heading: string): string {
  return plain(heading)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-');
}

function unique(id: string, taken: Map<string, number>): string {
  const times = taken.get(id) ?? 0;
  taken.set(id, times + 1);
  return times === 0 ? id : `${id}-${times}`;
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escape(text: string): string {
  return text.replaceAll(/[&<>"]/g, (each) => entities[each] ?? each);
}
