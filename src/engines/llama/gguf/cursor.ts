/** What is wrong with a file, as the end of a sentence: `it ends within its header`. */
export class GgufFault extends Error {}

/** More bytes may bring what is missing. */
export class HeaderCutShort extends GgufFault {}

export type Cursor = ReturnType<typeof createCursor>;

/** Longer than any template, shorter than what fills the memory. */
const maxTextBytes = 16 * 1024 ** 2;

/**
 * Reads little-endian values one after the other. What is behind the bytes throws `HeaderCutShort`.
 * @param end where the header must be over, whatever the file says
 */
export function createCursor(bytes: Buffer, end: number) {
  let offset = 0;

  /** Passes over so many bytes; returns where they begin. */
  function take(length: number): number {
    const start = offset;
    offset += length;
    if (offset > end) throw new GgufFault('its header has no end');
    if (offset > bytes.length) throw new HeaderCutShort('it ends within its header');
    return start;
  }

  /** @throws GgufFault for numbers no sensible file has */
  function u64(): number {
    const value = bytes.readBigUInt64LE(take(8));
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new GgufFault(`it holds the impossible size ${value}`);
    return Number(value);
  }

  function takeText(): number {
    const length = u64();
    if (length > maxTextBytes) throw new GgufFault(`it holds a text of ${length} bytes`);
    return take(length);
  }

  return {
    get offset() {
      return offset;
    },
    take,
    u64,
    u32: () => bytes.readUInt32LE(take(4)),
    text: () => bytes.toString('utf8', takeText(), offset),
    /** Passes over a text. */
    skipText: () => void takeText(),
  };
}
