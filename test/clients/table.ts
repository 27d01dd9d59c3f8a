import { versionedName, programs } from './programs.ts';

/** Columns of the table, tested in each format of a program. */
const clientCells = [
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
] as const;

const head = `| program | format | ${clientCells.join(' | ')} |\n|---|---${'|---'.repeat(clientCells.length)}|`;

/** Rows of the table in `docs/clients.md` for a program with these cells, given as `<format>: <cell>`. */
export function tableRowsFor(name: string, cells: readonly string[]): string[] {
  const program = programs.find((one) => one.name === name)!;
  const formats = [...new Set(cells.map((cell) => cell.slice(0, cell.indexOf(':'))))];
  return formats.map((format) => {
    const works = clientCells.map((cell) => (cells.includes(`${format}: ${cell}`) ? 'yes' : '-'));
    return `| ${versionedName(program)} | ${format} | ${works.join(' | ')} |`;
  });
}

/** Returns the page with these rows in its table. Programs that did not run keep their rows. */
export function replaceRows(page: string, seen: ReadonlyMap<string, readonly string[]>): string {
  const from = page.indexOf(head);
  const to = page.indexOf('\n\n', from);
  const told = page.slice(from, to).split('\n');
  const rows = programs.flatMap(({ name }) => {
    const cells = seen.get(name);
    return cells ? tableRowsFor(name, cells) : told.filter((row) => row.startsWith(`| ${name} (`));
  });
  return page.slice(0, from) + [head, ...rows].join('\n') + page.slice(to);
}
