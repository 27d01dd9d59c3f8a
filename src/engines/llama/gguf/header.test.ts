import { assert, asyncProperty, nat } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeModel } from '../inspect/describe.ts';
import { GgufFault } from './cursor.ts';
import { type GgufHeader, readGgufHeader } from './header.ts';

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

const text = (value: string) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
const entry = (key: string, type: number, ...value: Buffer[]) =>
  Buffer.concat([text(key), u32(type), ...value]);
const tensor = (name: string, dimensions: (number | bigint)[], type: number, offset: number) =>
  Buffer.concat([text(name), u32(dimensions.length), ...dimensions.map(u64), u32(type), u64(offset)]);

function gguf(entries: Buffer[], tensors: Buffer[], { version = 3, count = entries.length } = {}): Buffer {
  return Buffer.concat([
    Buffer.from('GGUF'),
    u32(version),
    u64(tensors.length),
    u64(count),
    ...entries,
    ...tensors,
  ]);
}

/** Reads in pieces so small that every value crosses one somewhere. */
function read(bytes: Buffer, pieceBytes = 7): Promise<GgufHeader> {
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  return readGgufHeader(pieces());
}

describe('a header', () => {
  const i64 = Buffer.alloc(8);
  i64.writeBigInt64LE(-5n);
  const f64 = Buffer.alloc(8);
  f64.writeDoubleLE(0.5);
  const all = gguf(
    [
      entry('a', 0, Buffer.of(200)),
      entry('b', 1, Buffer.of(200)),
      entry('c', 3, Buffer.of(0xff, 0xff)),
      entry('d', 4, u32(7)),
      entry('e', 7, Buffer.of(1)),
      entry('f', 8, text('für dich')),
      entry('g', 11, i64),
      entry('h', 12, f64),
      entry('i', 9, u32(8), u64(2), text('x'), text('yy')),
      entry('j', 9, u32(4), u64(3), u32(1), u32(2), u32(3)),
      entry('k', 9, u32(9), u64(1), u32(4), u64(1), u32(9)),
      entry('l', 9, u32(0), u64(5000), Buffer.alloc(5000)),
      entry('m', 10, u64(2 ** 40)),
    ],
    [tensor('t', [32, 2], 8, 0), tensor('u', [4], 0, 96)],
  );

  it.each([7, 64, 2 ** 20])('is read in pieces of %d bytes', async (pieceBytes) => {
    const { metadata, tensors, fileBytes } = await read(all, pieceBytes);
    expect(Object.fromEntries(metadata)).toEqual({
      a: 200,
      b: -56,
      c: -1,
      d: 7,
      e: true,
      f: 'für dich',
      g: -5,
      h: 0.5,
      i: { length: 2, items: null },
      j: { length: 3, items: [1, 2, 3] },
      k: { length: 1, items: null },
      l: { length: 5000, items: null },
      m: 2 ** 40,
    });
    expect(tensors).toEqual([
      { name: 't', elements: 64, type: 8, offset: 0 },
      { name: 'u', elements: 4, type: 0, offset: 96 },
    ]);
    expect(fileBytes).toBe(Math.ceil(all.length / 32) * 32 + 96 + 16);
  });

  it('has another alignment, or unknown tensor types', async () => {
    const aligned = gguf([entry('general.alignment', 4, u32(64))], [tensor('t', [1], 0, 0)]);
    expect((await read(aligned)).fileBytes).toBe(Math.ceil(aligned.length / 64) * 64 + 4);
    expect((await read(gguf([], [tensor('t', [1], 77, 0)]))).fileBytes).toBeNull();
  });

  it.each<[string, Buffer, string]>([
    [
      'entries without end',
      gguf([], [], { count: 2 ** 40 }),
      'claims to have 1099511627776 metadata entries',
    ],
    [
      'a text without end',
      gguf([entry('a', 8, u64(2 ** 40))], []),
      'it contains a text of 1099511627776 bytes',
    ],
    ['an impossible size', gguf([entry('a', 8, u64(2n ** 63n))], []), 'the impossible size'],
    ['an array without end', gguf([entry('a', 9, u32(8), u64(2 ** 50))], []), 'it ends within its header'],
    [
      'numbers without end',
      gguf([entry('a', 9, u32(4), u64(2 ** 50)), entry('b', 4, u32(1))], []),
      'too large',
    ],
    [
      'arrays in arrays',
      gguf([entry('a', 9, ...Array.from({ length: 6 }, () => Buffer.concat([u32(9), u64(1)])))], []),
      'nested too deeply',
    ],
    ['an unknown type', gguf([entry('a', 99)], []), 'unknown type 99'],
    ['too many dimensions', gguf([], [tensor('t', [1, 1, 1, 1, 1, 1, 1, 1, 1], 0, 0)]), '9 dimensions'],
    ['its first version', gguf([], [], { version: 1 }), 'version 1'],
    ['big-endian numbers', Buffer.from('GGUF\0\0\0\u0003 and so on'), 'big-endian'],
  ])('with %s is rejected', async (_, bytes, message) => {
    await expect(read(bytes)).rejects.toThrow(GgufFault);
    await expect(read(bytes)).rejects.toThrow(message);
  });

  it('truncated anywhere is rejected', async () => {
    for (let length = 0; length < all.length; length += 13)
      await expect(read(all.subarray(0, length))).rejects.toThrow(GgufFault);
  });

  it('damaged anywhere is read or rejected with a GgufFault', async () => {
    await assert(
      asyncProperty(nat(all.length - 1), nat(255), async (at, byte) => {
        const bytes = Buffer.from(all);
        bytes[at] = byte;
        const outcome = await read(bytes, 4096).catch((error: unknown) => error);
        if (outcome instanceof Error) expect(outcome).toBeInstanceOf(GgufFault);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the description of a header', () => {
  const wanted = { sequences: 2, contextSize: 'auto' as const, flashAttention: false };
  const freeBytes = 8e9;
  const model = (...entries: Buffer[]) =>
    read(
      gguf(
        [entry('general.architecture', 8, text('qwen3')), ...entries],
        [tensor('t', [256, 4], 12, 0), tensor('n', [4], 0, 0)],
      ),
    );

  it('has the memory plan of the engine', async () => {
    const header = await model(
      entry('qwen3.context_length', 4, u32(32_768)),
      entry('qwen3.embedding_length', 4, u32(1024)),
      entry('qwen3.block_count', 4, u32(28)),
      entry('qwen3.attention.head_count', 4, u32(16)),
      entry('qwen3.attention.head_count_kv', 9, u32(4), u64(2), u32(4), u32(8)),
      entry('qwen3.attention.key_length', 4, u32(128)),
      entry('qwen3.attention.value_length', 4, u32(128)),
    );
    const report = describeModel([header, header], 1000, wanted, freeBytes);
    expect(report).toMatchObject({
      parameters: 2056,
      quantization: 'Q4_K',
      layers: 28,
      heads: 16,
      keyValueHeads: 8,
      files: 2,
    });
    // 28 layers, keys and values of 8 heads of 128 half floats.
    expect(report.memory).toEqual({
      sequences: 2,
      context: 4096,
      weights: 1000,
      cache: 28 * 2 * 8 * 128 * 2 * 2 * 4096,
      work: expect.any(Number),
      misfit: null,
      card: null,
      note: null,
    });
    expect(describeModel([header], 9e9, wanted, freeBytes).memory.misfit).toMatch(
      /^The model needs .* but only/,
    );
  });

  it('has the declared quantization, whatever the type of most numbers', async () => {
    const header = await model(entry('general.file_type', 4, u32(2)));
    expect(describeModel([header], 1000, wanted, freeBytes).quantization).toBe('Q4_0');
  });

  it('is sparse without valid metadata', async () => {
    const minus = Buffer.alloc(4);
    minus.writeInt32LE(-3);
    const header = await model(
      entry('qwen3.block_count', 5, minus),
      entry('qwen3.attention.head_count', 4, u32(0)),
      entry('tokenizer.chat_template', 8, text('{{ one }}\n\n{{ two }}\n{{ three }}\n{{ four }}')),
    );
    const report = describeModel([header], 1000, wanted, freeBytes);
    expect(report).toMatchObject({
      name: null,
      layers: null,
      contextLength: null,
      memory: { cache: 0, misfit: null },
    });
    expect(report.template).toEqual({ family: null, begins: '{{ one }}\n{{ two }}\n{{ three }}\n…' });
  });
});
