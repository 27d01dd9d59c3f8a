/** Names are made by us; anything else would be a way out of the place where blobs stand. */
export function isName(name: string): boolean {
  return /^blob_[0-9a-f]{32}(\.index)?$/.test(name);
}

/** Where a blob stands among all, on every kind of storage: the last digits of an id are random, so the folders fill evenly. */
export function blobKey(name: string): string {
  if (!isName(name)) throw new Error(`Not the name of a blob: ${JSON.stringify(name.slice(0, 64))}`);
  return `${name.slice(35, 37)}/${name}`;
}

/** When the name was made, in epoch milliseconds by the clock of who made it: ids begin with it. */
export function madeAt(name: string): number {
  return Number.parseInt(name.slice(5, 17), 16);
}
