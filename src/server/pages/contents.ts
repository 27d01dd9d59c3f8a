import { type Library, type Page, plain } from './library.ts';

export interface Section {
  heading: string;
  pages: readonly Page[];
}

/** The pages in the order of the links in `docs/README.md`, each below its heading. */
export function contentsOf(library: Library): Section[] {
  const front = library.get('README')?.markdown ?? '';
  return front
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const links = [...part.matchAll(/^[-|] \[[^\]]*\]\(([\w/-]+)\.md\)/gm)];
      const pages = links.map(([, name = '']) => library.get(name)).filter((page) => page !== undefined);
      return { heading: plain(part.split('\n', 1)[0] ?? ''), pages };
    })
    .filter(({ pages }) => pages.length > 0);
}

/**
 * Returns the index for language models (llmstxt.org): every page with its first sentence.
 * @param at the prefix of links to pages: `''` within `docs/`
 */
export function llmsText(library: Library, at: string): string {
  const sections = contentsOf(library);
  const listed = new Set(sections.flatMap(({ pages }) => pages));
  const front = library.get('README');
  const others = [...library.values()].filter((page) => page !== front && !listed.has(page));
  const lines = [`# Offpeak`, `> ${front?.summary}`];
  for (const { heading, pages } of [...sections, { heading: 'Optional', pages: others }])
    lines.push(
      `## ${heading}`,
      pages.map(({ title, name, summary }) => `- [${title}](${at}${name}.md): ${summary}`).join('\n'),
    );
  return `${lines.join('\n\n')}\n`;
}
