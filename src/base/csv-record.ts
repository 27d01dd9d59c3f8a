const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** A cell that no spreadsheet runs as a formula: an apostrophe stands before a text that begins like one. */
export function withoutFormula(cell: unknown): unknown {
  return typeof cell === 'string' && formula.test(cell) && !number.test(cell) ? `'${cell}` : cell;
}

/** A line of CSV (RFC 4180): quotes where there is something to quote, doubled inside; what is no text as JSON. */
export function csvRecord(cells: readonly unknown[]): string {
  const texts = cells.map((cell) => {
    const text = typeof cell === 'string' ? cell : cell === null ? '' : JSON.stringify(cell);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${texts.join(',')}\r\n`;
}
