import type { Words } from '../base/words.ts';

/** Database error that the operator can fix. Shown as message and hint, without a stack. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  /** Advice to the operator: a sentence. */
  readonly hint: string;

  constructor(code: StoreErrorCode, message: string, hint: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = 'StoreError';
    this.code = code;
    this.hint = hint;
  }
}

export type StoreErrorCode =
  Words<'locked corrupt not_a_database newer_schema older_schema mismatch unwritable disk_full unsupported unreachable refused stopped'>;
