export interface Part {
  name: string;
  value: string | Uint8Array;
  /** Makes it a file part; null for a file part that names no file. */
  filename?: string | null;
}

const boundary = 'offpeak-test-boundary';

/** A multipart body written by hand, so that tests decide about order, names and what is missing. */
export function multipart(
  parts: Part[],
  options: { end?: boolean } = {},
): { body: Uint8Array; headers: Record<string, string> } {
  const encoder = new TextEncoder();
  const pieces = parts.flatMap(({ name, value, filename }) => {
    const file = filename === undefined ? '' : filename === null ? '' : `; filename="${filename}"`;
    const type = filename === undefined ? '' : 'Content-Type: application/octet-stream\r\n';
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n${type}\r\n`;
    return [
      encoder.encode(head),
      typeof value === 'string' ? encoder.encode(value) : value,
      encoder.encode('\r\n'),
    ];
  });
  if (options.end !== false) pieces.push(encoder.encode(`--${boundary}--\r\n`));
  return {
    body: Buffer.concat(pieces),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  };
}

/** The usual upload: purpose first, then the file. */
export function uploadForm(content: string | Uint8Array, filename = 'in.jsonl', more: Part[] = []) {
  return multipart([
    { name: 'purpose', value: 'batch' },
    ...more,
    { name: 'file', value: content, filename },
  ]);
}
