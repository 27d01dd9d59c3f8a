/** Fault of a file, as the end of a sentence: `it ends within its header`. */
export class GgufFault extends Error {}

/** The bytes so far end within the header. */
export class HeaderCutShort extends GgufFault {}

export type Cursor = ReturnType<typeof createCursor>;

/** Longer than any template. */
const maxTextBytes = 16 * 1024 ** 2;

/** Reads little-endian values in order; throws `HeaderCutShort` past the bytes. @param end largest header that is read */
export function createCursor(bytes: Buffer, end: number) {
  let offset = 0;

  /** Skips `length` bytes and returns their offset. */
  function take(length: number): number {
    const start = offset;
    offset += length;
    if (offset > end) throw new GgufFault('its header is too large');
    if (offset > bytes.length) throw new HeaderCutShort('it ends within its header');
    return start;
  }

  function u64(): number {
    const value = bytes.readBigUInt64LE(take(8));
    if (value > BigInt(Number.MAX_SAFE_INTEGER))
      throw new GgufFault(`it contains the impossible size ${value}`);
    return Number(value);
  }

  function takeText(): number {
    const length = u64();
    if (length > maxTextBytes) throw new GgufFault(`it contains a text of ${length} bytes`);
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
    skipText: () => void takeText(),
  };
}
