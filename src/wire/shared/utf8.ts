/** Decodes whole texts and refuses what is not UTF-8; the platform's lenient decoder would replace it silently. */
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text, or the position of the first byte that is not UTF-8. A byte order mark is kept. */
export function decodeUtf8(bytes: Uint8Array): string | { invalidAt: number } {
  try {
    return strict.decode(bytes);
  } catch {
    return { invalidAt: firstInvalid(bytes) };
  }
}

/**
 * By halving: the byte behind the longest prefix that decodes, or, when only the end is missing, the first byte of the
 * unfinished character.
 */
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
