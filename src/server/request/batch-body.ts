/** Size of inline requests, with white space and the JSON around them, relative to JSON Lines. */
const frameFactor = 1.25;
/** Bytes of the other fields. */
const frameBytes = 65_536;

/** Maximum body size of a new batch with inline requests of this size as JSON Lines, in bytes. */
export function batchBodyBytes(inlineBytes: number): number {
  return Math.ceil(inlineBytes * frameFactor) + frameBytes;
}

/** Size of the inline requests that fit a body of this size. */
export function inlineBytesWithin(bodyBytes: number): number {
  return Math.floor((bodyBytes - frameBytes) / frameFactor);
}
