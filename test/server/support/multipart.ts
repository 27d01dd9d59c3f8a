export interface Part {
  name: string;
  value: string | Uint8Array;
  /** Turns this into a file part; null for a file part without a filename. */
  filename?: string | null;
}

const boundary = 'offpeak-test-boundary';

/** Returns a handwritten multipart body, so that tests control the order, the names and omissions. */
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

/** Returns a regular upload: the purpose, then the file. */
export function uploadForm(content: string | Uint8Array, filename = 'in.jsonl', more: Part[] = []) {
  return multipart([
    { name: 'purpose', value: 'batch' },
    ...more,
    { name: 'file', value: content, filename },
  ]);
}
