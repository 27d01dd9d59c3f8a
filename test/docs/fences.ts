import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Fenced code block of a page. */
export interface Fence {
  /** Page and line, such as `docs/batches.md:12`. */
  at: string;
  page: string;
  language: string;
  text: string;
  /** From the comment before the block: name for a test of its own, or the reason why no test runs it. */
  name?: string;
  notRun?: string;
}

/** Returns all fenced blocks with a language in README.md and docs/. */
export function allFences(root: string): Fence[] {
  const pages = readdirSync(join(root, 'docs'), { recursive: true })
    .map((path) => `docs/${String(path)}`)
    .filter((path) => path.endsWith('.md'));
  return ['README.md', ...pages.toSorted()].flatMap((page) =>
    findFences(page, readFileSync(join(root, page), 'utf8')),
  );
}

/** @param text of the page; blocks may be inside lists */
export function findFences(page: string, text: string): Fence[] {
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

/** Returns a block with the earlier blocks of its page and language that it continues, as one program. */
export function toProgram(fence: Fence, fences: readonly Fence[]): string {
  const mine = fences.filter(({ page, language }) => page === fence.page && language === fence.language);
  const before = mine.slice(0, mine.indexOf(fence));
  const isWhole = /^(import|from) /m.test(fence.text);
  const previous = isWhole ? undefined : before.findLast((each) => each.notRun === undefined);
  if (!previous) return fence.text;
  // A block may redeclare names of the one before.
  return `${toProgram(previous, fences)}\n${fence.language === 'js' ? `{\n${fence.text}}` : fence.text}`;
}
