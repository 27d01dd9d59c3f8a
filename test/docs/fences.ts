import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A fenced block of a page. */
export interface Fence {
  /** `docs/batches.md:12`, the line of its fence. */
  at: string;
  page: string;
  language: string;
  text: string;
  /** What the comment before it says: the name under which a test of its own runs it, or why nothing does. */
  name?: string;
  notRun?: string;
}

/** All fenced blocks of README.md and of the pages in docs/ that name a language. */
export function allFences(root: string): Fence[] {
  const pages = readdirSync(join(root, 'docs'), { recursive: true })
    .map((path) => `docs/${String(path)}`)
    .filter((path) => path.endsWith('.md'));
  return ['README.md', ...pages.toSorted()].flatMap((page) =>
    fencesOf(page, readFileSync(join(root, page), 'utf8')),
  );
}

/** @param text of the page, whose blocks may stand in lists */
export function fencesOf(page: string, text: string): Fence[] {
  const blocks = text.matchAll(
    /(?:<!-- (?:test: (?<name>\S+)|not run: (?<notRun>.+?)) -->\n)?^(?<indent> *)```(?<language>\w+)\n(?<text>[\s\S]*?)^ *```$/gm,
  );
  return Array.from(blocks, ({ index, groups = {}, 0: whole }) => {
    const line = text.slice(0, index + whole.indexOf('```')).split('\n').length;
    const { name, notRun, indent = '', language = '', text: inner = '' } = groups;
    return {
      at: `${page}:${line}`,
      page,
      language,
      text: inner.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      ...(name !== undefined && { name }),
      ...(notRun !== undefined && { notRun }),
    };
  });
}

/** What one block says of a whole, and the blocks of its page and language before it that it goes on from. */
export function programOf(fence: Fence, fences: readonly Fence[]): string {
  const mine = fences.filter(({ page, language }) => page === fence.page && language === fence.language);
  const before = mine.slice(0, mine.indexOf(fence));
  const isWhole = /^(import|from) /m.test(fence.text);
  const previous = isWhole ? undefined : before.findLast((each) => each.notRun === undefined);
  if (!previous) return fence.text;
  // Names of the block before may be given anew.
  return `${programOf(previous, fences)}\n${fence.language === 'js' ? `{\n${fence.text}}` : fence.text}`;
}
