/** Fewer rows are cheaper to clone, although that repeats every key. */
const minPackedRows = 8;

/** Rows between threads: JSON without the bodies, and all bodies in one transferred buffer. */
export interface PackedRows {
  rowsAsJson: string;
  /** Null when the rows have no bodies. */
  bodies: ArrayBuffer | null;
}

type Row = Record<string, unknown>;

/**
 * Packs a list of plain objects; other values are unchanged. All objects or none have a `body` of bytes, and the other members are
 * JSON values. Bodies are copied, so that the caller can send them again.
 */
export function packRows(value: unknown): unknown {
  if (!Array.isArray(value) || value.length < minPackedRows) return value;
  const rows = value as unknown[];
  if (!rows.every(isRow)) return value;
  if (!rows.every(hasBody)) return { rowsAsJson: JSON.stringify(rows), bodies: null };
  const bodies = new Uint8Array(rows.reduce((sum, { body }) => sum + body.length, 0));
  let at = 0;
  for (const { body } of rows) {
    bodies.set(body, at);
    at += body.length;
  }
  const rowsAsJson = JSON.stringify(rows.map((row) => ({ ...row, body: row.body.length })));
  return { rowsAsJson, bodies: bodies.buffer };
}

/** Inverse of `packRows`. Bodies are views of one buffer. */
export function unpackRows(value: unknown): unknown {
  if (!isPacked(value)) return value;
  const rows = JSON.parse(value.rowsAsJson) as Row[];
  if (value.bodies === null) return rows;
  let at = 0;
  for (const row of rows) {
    const length = row['body'] as number;
    row['body'] = new Uint8Array(value.bodies, at, length);
    at += length;
  }
  return rows;
}

/** Buffers to transfer with a message of these values. */
export function buffersOf(values: readonly unknown[]): ArrayBuffer[] {
  return values.flatMap((value) => (isPacked(value) && value.bodies !== null ? [value.bodies] : []));
}

function isPacked(value: unknown): value is PackedRows {
  return typeof value === 'object' && value !== null && 'rowsAsJson' in value;
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value);
}

function hasBody(row: Row): row is Row & { body: Uint8Array } {
  return row['body'] instanceof Uint8Array;
}
