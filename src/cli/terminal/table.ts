import type CliTable from 'cli-table3';
import { loadPackage } from '../../base/load-package.ts';
import { sum } from '../../base/sum.ts';
import { shorten } from './clean-text.ts';

const maxCellWidth = 80;
const minCellWidth = 10;
/** Border and padding of a column. */
const framePerCell = 3;

/**
 * Draws rows as a table of at most `width` characters. Empty columns are omitted and the widest are narrowed, except the
 * first, which identifies the row. If that is not enough, each row becomes a paragraph.
 */
export function drawTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
  paintHead: (text: string) => string,
): string {
  const used = head.map((_, column) => column === 0 || rows.some((row) => row[column] !== ''));
  const pick = (row: readonly string[]) => row.filter((_, column) => used[column]);
  const [titles, lines] = [pick(head), rows.map(pick)];
  const widths = fit(
    titles.map((title, column) =>
      Math.max(title.length, ...lines.map((line) => Math.min(maxCellWidth, line[column]?.length ?? 0))),
    ),
    width - 1 - titles.length * framePerCell,
  );
  if (widths === undefined) return lines.map((line) => paragraph(titles, line, width, paintHead)).join('\n');
  // Loaded here, because most commands draw no table.
  const Table = loadPackage('cli-table3') as typeof CliTable;
  const table = new Table({
    head: titles.map(paintHead),
    colWidths: widths.map((cell) => cell + 2),
    style: { head: [], border: [], compact: true },
  });
  for (const line of lines) table.push(line.map((cell, column) => shorten(cell, widths[column] ?? 0)));
  return table.toString();
}

/** Narrows the widest columns until all fit into `room`. Undefined if they cannot. */
function fit(widths: number[], room: number): number[] | undefined {
  const fitted = [...widths];
  for (let over = sum(fitted) - room; over > 0; over--) {
    const widest = Math.max(...fitted.slice(1));
    if (widest <= minCellWidth) return undefined;
    fitted[fitted.indexOf(widest, 1)] = widest - 1;
  }
  return fitted;
}

/** Row as its first cell, followed by lines of `title value` pairs. */
function paragraph(
  titles: readonly string[],
  [name = '', ...cells]: readonly string[],
  width: number,
  paintHead: (text: string) => string,
): string {
  const lines: string[] = [];
  cells.forEach((cell, index) => {
    if (cell === '') return;
    const pair = shorten(`${titles[index + 1]} ${cell}`, width - 2);
    const last = lines.at(-1);
    if (last !== undefined && last.length + 2 + pair.length <= width)
      lines[lines.length - 1] = `${last}, ${pair}`;
    else lines.push(`  ${pair}`);
  });
  return [paintHead(name), ...lines].join('\n');
}
