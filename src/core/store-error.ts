/**
 * A fault of the database that an operator can do something about. Shown as message and hint, never with a stack: it is
 * not a bug.
 */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  /** What to do about it: a sentence. */
  readonly hint: string;

  constructor(code: StoreErrorCode, message: string, hint: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = 'StoreError';
    this.code = code;
    this.hint = hint;
  }
}

export type StoreErrorCode =
  | 'locked'
  | 'corrupt'
  | 'not_a_database'
  | 'newer_schema'
  | 'older_schema'
  | 'mismatch'
  | 'unwritable'
  | 'disk_full'
  | 'unsupported'
  | 'unreachable'
  | 'refused'
  | 'stopped';
