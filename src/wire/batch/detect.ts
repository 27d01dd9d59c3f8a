/** First bytes of files that are uploaded by mistake (faults B08 and B09 of docs/reliability.md). */
const magic: { bytes: readonly number[]; what: string }[] = [
  { bytes: [0xff, 0xfe], what: 'UTF-16 text' },
  { bytes: [0xfe, 0xff], what: 'UTF-16 text' },
  { bytes: [0x1f, 0x8b], what: 'a gzip archive' },
  { bytes: [0x50, 0x4b, 0x03, 0x04], what: 'a zip archive' },
  { bytes: [0x28, 0xb5, 0x2f, 0xfd], what: 'a Zstandard archive' },
  { bytes: [0x42, 0x5a, 0x68], what: 'a bzip2 archive' },
  { bytes: [0x50, 0x41, 0x52, 0x31], what: 'a Parquet file' },
  { bytes: [0x25, 0x50, 0x44, 0x46], what: 'a PDF' },
];

/** Number of bytes that `detectBytes` needs. */
export const headLength = 4;

/** Names the file type by the first bytes; undefined for UTF-8 text. */
export function detectBytes(head: Uint8Array): string | undefined {
  const known = magic.find(({ bytes }) => bytes.every((byte, at) => head[at] === byte));
  if (known) return known.what;
  const nul = head.subarray(0, headLength).indexOf(0);
  if (nul < 0) return undefined;
  return head.length >= 2 && nul < 2 ? 'UTF-16 text' : 'binary data';
}

/** Names the format by the first line of a text; undefined for JSON Lines. */
export function detectFirstLine(line: string): string | undefined {
  const text = line.trim();
  if (text.startsWith('[')) return 'one JSON array';
  if (text === '{') return 'pretty-printed JSON';
  if (text.startsWith('<')) return 'XML or HTML';
  return !text.startsWith('{') && csvHeader.test(text) ? 'CSV' : undefined;
}

/** Column names: several words between commas, semicolons or tabs. */
const csvHeader = /^"?[A-Za-z_][\w .-]*"?(?:[,;\t]\s*"?[A-Za-z_][\w .-]*"?)+$/;
