import { isAscii, isUtf8 } from 'node:buffer';

export { isAscii, isUtf8 };

/**
 * Binary string of UTF-8 bytes, one character per byte. JSON parses from it in half the time and memory; non-ASCII strings then
 * need `fromBinaryString`. Not for JSON with escaped characters (`\u`).
 */
export function toBinaryString(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('latin1');
}

/** Decodes a string of such JSON. */
export function fromBinaryString(characters: string): string {
  return notAscii.test(characters) ? Buffer.from(characters, 'latin1').toString() : characters;
}

const notAscii = /[\u0080-\u00ff]/;

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
