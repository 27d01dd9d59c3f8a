/** `src/base/byte-text.ts` for a browser, which has no Buffer. `vite.config.ts` puts it in its place. */

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const strict = new TextDecoder('utf-8', { fatal: true });
/** Arguments that one call can take. */
const atOnce = 8_192;
const notAscii = /[\u0080-\u00ff]/;

export function isAscii(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte < 0x80);
}

export function isUtf8(bytes: Uint8Array): boolean {
  try {
    strict.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Binary string of bytes, one character per byte. */
export function toBinaryString(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += atOnce)
    text += String.fromCharCode(...bytes.subarray(at, at + atOnce));
  return text;
}

/** Decodes a string of such JSON. */
export function fromBinaryString(characters: string): string {
  if (!notAscii.test(characters)) return characters;
  return decoder.decode(Uint8Array.from(characters, (character) => character.charCodeAt(0)));
}
