import type { Tokens } from 'marked';
import { plain, type Library } from './library.ts';

/** A heading of a page with the text below it, up to the next heading. */
export interface PageSection {
  depth: number;
  /** Plain text. */
  heading: string;
  /** Its id on the page; '' for the page as a whole. */
  anchor: string;
  /** Plain text, code included. */
  text: string;
}

/** Loads the parser of Markdown: when the first page is shown, so that a start does not wait for it. */
export async function createRenderer(library: Pick<Library, 'has'>) {
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
      code: ({ text }) => `<div class="block"><pre><code>${escape(text)}\n</code></pre></div>\n`,
      table({ header, rows }) {
        const row = (cells: Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>\n`;
        return `<div class="table"><table>\n<thead>\n${row(header, 'th')}</thead>\n<tbody>${rows.map((cells) => row(cells, 'td')).join('')}</tbody></table></div>\n`;
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
  return {
    /** Returns the HTML of a page; HTML in its Markdown is shown as text. `from` is the name of the page, for its links. */
    render(markdown: string, from: string): string {
      taken = new Map();
      page = from;
      return marked.parse(markdown, { async: false });
    },
    sections(markdown: string): PageSection[] {
      const found: PageSection[] = [];
      const used = new Map<string, number>();
      for (const token of marked.lexer(markdown)) {
        if (token.type === 'heading') {
          const { depth, text } = token as Tokens.Heading;
          const id = unique(anchorOf(text), used);
          found.push({ depth, heading: plain(text), anchor: depth === 1 ? '' : id, text: '' });
        } else if (token.type !== 'html') {
          const last = found.at(-1);
          if (last) last.text = `${last.text} ${plain(token.raw.replaceAll(/^[|`~> -]+|\|/gm, ' '))}`.trim();
        }
      }
      return found;
    },
  };
}

/**
 * Returns where a link on the page `from` leads on the server, relative as it is: pages have no `.md` there, and a README is its
 * folder. Undefined for what the server does not have: files outside `docs/`, and schemes other than HTTP.
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
