const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** Escapes a cell that a spreadsheet would run as a formula: an apostrophe precedes it. */
export function withoutFormula(cell: unknown): unknown {
  return typeof cell === 'string' && formula.test(cell) && !number.test(cell) ? `'${cell}` : cell;
}

/** CSV line (RFC 4180); values other than text are written as JSON. */
export function csvRecord(cells: readonly unknown[], delimiter = ','): string {
  const texts = cells.map((cell) => {
    if (Number.isSafeInteger(cell)) return String(cell);
    const text = typeof cell === 'string' ? cell : cell === null ? '' : JSON.stringify(cell);
    return /["\r\n]/.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${texts.join(delimiter)}\r\n`;
}
