/** True for a name made by the server; other names could lead to files outside the store. */
export function isBlobName(name: string): boolean {
  return /^blob_[0-9a-f]{32}(\.index)?$/.test(name);
}

/** Folders that blobs are kept in, `00` to `ff`. */
export const blobFolders: readonly string[] = Array.from({ length: 256 }, (_, at) =>
  at.toString(16).padStart(2, '0'),
);

/** Key of a blob in every kind of store. The last digits of an id are random, so the folders fill evenly. */
export function blobKey(name: string): string {
  if (!isBlobName(name)) throw new Error(`Invalid blob name: ${JSON.stringify(name.slice(0, 64))}`);
  return `${name.slice(35, 37)}/${name}`;
}

/** Creation time of a name in epoch milliseconds, by its creator's clock: ids begin with it. */
export function createdAt(name: string): number {
  return Number.parseInt(name.slice(5, 17), 16);
}
