/** Bytes that count toward the quota of an org. */
export interface StoredBytes {
  orgId: string;
  bytes: number;
}
