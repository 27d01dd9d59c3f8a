import type { JsonScan } from './scan.ts';

/** A JSON document parsed and as it came: engines forward the text, so that numbers keep every digit they had. */
export interface JsonBody<T> {
  value: T;
  text: string;
  /** Of this very text, where one was made: who changes a member need not look for it again. */
  scan?: JsonScan;
}
