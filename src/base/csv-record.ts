/** A line of CSV (RFC 4180): quotes where there is something to quote, doubled inside; what is no text as JSON. */
export function csvRecord(cells: readonly unknown[]): string {
  const texts = cells.map((cell) => {
    const text = typeof cell === 'string' ? cell : cell === null ? '' : JSON.stringify(cell);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${texts.join(',')}\r\n`;
}
