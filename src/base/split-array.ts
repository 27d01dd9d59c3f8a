const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [open, close] = [new Set([0x5b, 0x7b]), new Set([0x5d, 0x7d])];

/**
 * Bytes of each item of a JSON array, whose text arrives in chunks, so that an array of any size can be read. The items are not
 * parsed: of invalid JSON, they may be invalid, too.
 */
export async function* splitArray(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let depth = 0;
  let isText = false;
  let isEscaped = false;
  let pending: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    const item = (end: number) => {
      const bytes = Buffer.concat([...pending, chunk.subarray(start, end)]);
      pending = [];
      start = end + 1;
      return bytes;
    };
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (isText) {
        if (isEscaped) isEscaped = false;
        else if (byte === backslash) isEscaped = true;
        else if (byte === quote) isText = false;
      } else if (byte === quote) isText = true;
      else if (open.has(byte) && ++depth === 1) start = at + 1;
      else if (byte === comma && depth === 1) yield item(at);
      else if (close.has(byte) && --depth === 0) {
        const last = item(at);
        if (last.some((one) => one > 0x20)) yield last;
        return;
      }
    }
    if (depth > 0) pending.push(chunk.subarray(start));
  }
  // An array without its end: the rest is reported like an invalid item.
  const rest = Buffer.concat(pending);
  if (rest.some((one) => one > 0x20)) yield rest;
}
