import type { ByteSource } from './byte-source.ts';

/** What is wrong with a file, as the end of a sentence: `it ends within its header`. */
export class GgufFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'GgufFault';
  }
}

/** Reads little-endian values one after the other, a window at a time. */
export interface Cursor {
  readonly offset: number;
  skip(bytes: number): void;
  bytes(length: number): Promise<Buffer>;
  u32(): Promise<number>;
  /** @throws GgufFault for numbers no sensible file has */
  u64(): Promise<number>;
  text(): Promise<string>;
  /** Passes over a text. */
  skipText(): Promise<void>;
}

/** Longer than any template, shorter than what fills the memory. */
const longestText = 16 * 1024 ** 2;

/**
 * @param windowBytes how much is read at once
 * @param end where the header must be over, whatever the file says
 */
export function createCursor(source: ByteSource, windowBytes: number, end: number): Cursor {
  let window: Buffer = Buffer.alloc(0);
  let windowStart = 0;
  let offset = 0;

  async function bytes(length: number): Promise<Buffer> {
    if (offset + length > end) throw new GgufFault('its header has no end');
    if (offset < windowStart || offset + length > windowStart + window.length) {
      window = await source.read(offset, Math.max(length, windowBytes));
      windowStart = offset;
    }
    const found = window.subarray(offset - windowStart, offset - windowStart + length);
    if (found.length < length) throw new GgufFault('it ends within its header');
    offset += length;
    return found;
  }

  async function u64(): Promise<number> {
    const value = (await bytes(8)).readBigUInt64LE();
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new GgufFault(`it holds the impossible size ${value}`);
    return Number(value);
  }

  async function textLength(): Promise<number> {
    const length = await u64();
    if (length > longestText) throw new GgufFault(`it holds a text of ${length} bytes`);
    return length;
  }

  return {
    get offset() {
      return offset;
    },
    skip(count) {
      offset += count;
    },
    bytes,
    u64,
    u32: async () => (await bytes(4)).readUInt32LE(),
    text: async () => (await bytes(await textLength())).toString('utf8'),
    async skipText() {
      const length = await textLength();
      offset += length;
    },
  };
}
