import { versionedName, programs } from './programs.ts';

/** What a program is tried with, in each format that it speaks. */
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

/** The rows of the table in `docs/clients.md` that a program with these cells, as `<format>: <cell>`, has. */
export function tableRowsFor(name: string, cells: readonly string[]): string[] {
  const program = programs.find((one) => one.name === name)!;
  const formats = [...new Set(cells.map((cell) => cell.slice(0, cell.indexOf(':'))))];
  return formats.map((format) => {
    const works = clientCells.map((cell) => (cells.includes(`${format}: ${cell}`) ? 'yes' : '-'));
    return `| ${versionedName(program)} | ${format} | ${works.join(' | ')} |`;
  });
}

/** The page with these rows in its table; what was not seen now keeps those that it has. */
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
