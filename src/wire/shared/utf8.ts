/** Rejects invalid UTF-8, which the lenient decoder would silently replace. */
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns the text with its byte order mark, or the position of the first byte that is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | { invalidAt: number } {
  try {
    return strict.decode(bytes);
  } catch {
    return { invalidAt: firstInvalid(bytes) };
  }
}

/** Binary search for the first byte after the longest prefix that decodes; the lead byte of a truncated last character. */
function firstInvalid(bytes: Uint8Array): number {
  let sound = 0;
  let broken = bytes.length;
  while (broken - sound > 1) {
    const middle = (sound + broken) >> 1;
    if (isSoundPrefix(bytes.subarray(0, middle))) sound = middle;
    else broken = middle;
  }
  if (!isSoundPrefix(bytes)) return sound;
  let lead = bytes.length - 1;
  while (lead > 0 && (bytes[lead]! & 0xc0) === 0x80) lead -= 1;
  return lead;
}

function isSoundPrefix(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
