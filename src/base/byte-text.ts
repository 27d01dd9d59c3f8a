import { isAscii, isUtf8 } from 'node:buffer';

export { isAscii, isUtf8 };

/**
 * The bytes of a text, each as a character. JSON read so is the same but for strings that are not ASCII, whose characters
 * then are their bytes; that takes half the time and half the memory. No string of it may hold an escaped character (`\u`).
 */
export function toBinaryString(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('latin1');
}

/** The text of a string from there. */
export function fromBinaryString(characters: string): string {
  return notAscii.test(characters) ? Buffer.from(characters, 'latin1').toString() : characters;
}

const notAscii = /[\u0080-\u00ff]/;

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
