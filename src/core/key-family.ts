/** A key, or something that a key created. */
export interface OfKey {
  keyId: string;
  /** First key of the family; null or absent for that key itself. */
  keyFamily?: string | null;
}

/**
 * Id under which a key counts against budgets and limits: that of the first key of its family, which is a key and the keys that
 * replaced it by rotation. It never changes, so that whatever a key creates can store it.
 */
export function familyOf({ keyId, keyFamily }: OfKey): string {
  return keyFamily ?? keyId;
}
