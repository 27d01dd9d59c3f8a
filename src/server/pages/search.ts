import type { Library, Page } from './library.ts';
import { escape, type PageSection } from './render.ts';

/** Maximum results shown. The first ones are what a reader looks at. */
const maxResults = 30;
/** Length of the text around the first match, in characters. */
const excerptLength = 220;

interface Entry extends PageSection {
  id: number;
  name: string;
  title: string;
}

/**
 * Builds the index over the sections of all pages, in some 50 ms.
 * @returns function that finds the sections with the words of a query, as a list of links in HTML
 */
export async function createSearch(library: Library, sectionsOf: (page: Page) => readonly PageSection[]) {
  const { default: MiniSearch } = await import('minisearch');
  const entries = [...library.values()].flatMap((page) =>
    sectionsOf(page).map((section) => ({ ...section, name: page.name, title: page.title })),
  );
  const index = new MiniSearch<Entry>({
    fields: ['title', 'heading', 'text'],
    searchOptions: {
      boost: { heading: 4, title: 2 },
      prefix: (term) => term.length > 2,
      fuzzy: (term) => term.length > 4 && 0.2,
    },
  });
  index.addAll(entries.map((entry, id) => ({ ...entry, id })));

  return (query: string): string => {
    const words = query.slice(0, 100).split(/\s+/).slice(0, 8).join(' ');
    const every = index.search(words, { combineWith: 'AND' });
    const results = every.length > 0 ? every : index.search(words);
    if (results.length === 0) return `<p>No page has these words.</p>`;
    const items = results
      .slice(0, maxResults)
      .map(({ id, terms }) => resultItem(entries[id as number]!, terms));
    return `<ul class="found">${items.join('')}</ul>`;
  };
}

function resultItem({ name, title, heading, anchor, text }: Omit<Entry, 'id'>, terms: string[]): string {
  const place = name.replace(/README$/, '') + (anchor === '' ? '' : `#${anchor}`);
  const label = heading === title ? title : `${title}: ${heading}`;
  return `<li><h3><a href="${place || './'}">${escape(label)}</a></h3><p>${excerpt(text, terms)}</p></li>`;
}

/** The text around the first match, with the matches marked. */
function excerpt(text: string, terms: string[]): string {
  const pattern = new RegExp(terms.map((term) => RegExp.escape(term)).join('|'), 'gi');
  const first = Math.max(0, text.search(pattern));
  const start = first < 60 ? 0 : text.lastIndexOf(' ', first - 40) + 1;
  const part = text.slice(start, start + excerptLength);
  const marked = part
    .split(new RegExp(`(${pattern.source})`, 'gi'))
    .map((piece, at) => (at % 2 === 1 ? `<mark>${escape(piece)}</mark>` : escape(piece)));
  return `${start > 0 ? '… ' : ''}${marked.join('')}${start + excerptLength < text.length ? ' …' : ''}`;
}
