import { batchPrograms } from './batch-programs.ts';
import { versionedName, programs } from './programs.ts';
import type { Program } from './programs.ts';

/** A table of `docs/clients.md`: a row for each way to use a program, and a column for each cell. */
interface TableOptions {
  programs: readonly Program[];
  /** Head of the second column. */
  way: string;
  columns: readonly string[];
}

function defineTable({ programs: all, way, columns }: TableOptions) {
  const head = `| program | ${way} | ${columns.join(' | ')} |\n|---|---${'|---'.repeat(columns.length)}|`;

  /** Rows of a program with these cells, given as `<way>: <column>`. */
  function rowsFor(name: string, cells: readonly string[]): string[] {
    const program = all.find((one) => one.name === name)!;
    const ways = [...new Set(cells.map((cell) => cell.slice(0, cell.indexOf(':'))))];
    return ways.map((each) => {
      const works = columns.map((column) => (cells.includes(`${each}: ${column}`) ? 'yes' : '-'));
      return `| ${versionedName(program)} | ${each} | ${works.join(' | ')} |`;
    });
  }

  return {
    rowsFor,
    /** Returns the page with these rows in its table. Programs that did not run keep their rows. */
    replace(page: string, seen: ReadonlyMap<string, readonly string[]>): string {
      const from = page.indexOf(head);
      if (from < 0) throw new Error(`The page has no table with the head ${head}`);
      const to = page.indexOf('\n\n', from);
      const told = page.slice(from, to).split('\n');
      const rows = all.flatMap(({ name }) => {
        const cells = seen.get(name);
        return cells ? rowsFor(name, cells) : told.filter((row) => row.startsWith(`| ${name} (`));
      });
      return page.slice(0, from) + [head, ...rows].join('\n') + page.slice(to);
    },
  };
}

/** Table of single requests, in each format of a program. */
export const clientTable = defineTable({
  programs,
  way: 'format',
  columns: [
    'answer',
    'stream',
    'tools',
    'forced tool',
    'schema',
    'image',
    'errors',
    'retries',
    'embeddings',
    'batch',
  ],
});

/** Table of the clients of batches, each on the surface that it is meant for. */
export const batchTable = defineTable({
  programs: batchPrograms,
  way: 'surface',
  columns: ['create', 'results', 'failed requests', 'list', 'cancel'],
});
