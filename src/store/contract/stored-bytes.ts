/** Bytes of all that is stored of an org's responses. */
export interface StoredBytes {
  orgId: string;
  bytes: number;
}
