import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import type { InputIndex } from '../../files/input-index.ts';
import { prefixHashes, prefixLevels } from '../../files/prefix-hashes.ts';
import type { Chunk } from '../../core/batch.ts';
import { planChunks } from './plan.ts';

interface Line {
  model?: string;
  system?: string;
  user: string;
}

function indexOf(lines: Line[]): InputIndex {
  const models = [...new Set(lines.map((line) => line.model ?? 'm'))];
  const index: InputIndex = {
    count: lines.length,
    models,
    offset: Float64Array.from(lines, (_, at) => at * 100),
    length: new Uint32Array(lines.length).fill(99),
    model: Uint16Array.from(lines, (line) => models.indexOf(line.model ?? 'm')),
    est: new Uint32Array(lines.length).fill(10),
    hashes: new Uint32Array(lines.length * prefixLevels),
  };
  for (const [at, { system, user }] of lines.entries()) {
    const messages = [{ role: 'user' as const, content: user }];
    const all = system === undefined ? messages : [{ role: 'system' as const, content: system }, ...messages];
    index.hashes.set(prefixHashes({ messages: all }), at * prefixLevels);
  }
  return index;
}

const plan = (lines: Line[], modelOf = (name: string) => name) =>
  planChunks('batch_1', indexOf(lines), modelOf);
const linesOf = (chunk: Chunk) => chunk.lines.map(({ line }) => line);
const system = (name: string, bytes = 2_000) => `You are ${name}. `.padEnd(bytes, `${name} `);

/** A fixed order that is nothing like the original one. */
function shuffled<T>(items: T[]): T[] {
  let state = 1;
  const next = () => (state = (state * 48_271) % 2_147_483_647);
  return items
    .map((item) => ({ item, key: next() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

describe('10,000 lines with 20 system prompts in any order', () => {
  const lines = shuffled(
    Array.from({ length: 10_000 }, (_, at) => ({
      system: system(`assistant ${at % 20}`),
      user: `question ${at} `.repeat(200),
    })),
  );
  const chunks = plan(lines);

  it('plans every line once, numbered from 1, with its place in the file', () => {
    expect(chunks.map((chunk) => chunk.seq)).toEqual(chunks.map((_, at) => at + 1));
    const seen = chunks.flatMap(linesOf);
    expect(seen.toSorted((a, b) => a - b)).toEqual(lines.map((_, at) => at));
    expect(chunks[7]?.lines[3]).toEqual({
      line: linesOf(chunks[7]!)[3],
      offset: linesOf(chunks[7]!)[3]! * 100,
      length: 99,
    });
  });

  it('puts one system prompt in each chunk, and gives chunks of the same one the same prefix', () => {
    const systemOfPrefix = new Map<string, string>();
    for (const chunk of chunks) {
      const systems = new Set(linesOf(chunk).map((line) => lines[line]!.system));
      expect(systems.size).toBe(1);
      const [only] = systems;
      expect(systemOfPrefix.get(chunk.prefix) ?? only).toBe(only);
      systemOfPrefix.set(chunk.prefix, only!);
    }
    expect(systemOfPrefix.size).toBe(20);
    expect(systemOfPrefix.has('')).toBe(false);
  });

  it('takes the lines of a prompt as they stand in the file, so that chunks claimed together are near each other there', () => {
    const inOrder = (numbers: number[]) =>
      numbers.every((number, at) => at === 0 || number > numbers[at - 1]!);
    expect(chunks.every((chunk) => inOrder(linesOf(chunk)))).toBe(true);
    expect(inOrder(chunks.slice(0, 20).map((chunk) => linesOf(chunk)[0]!))).toBe(true);
  });

  it('fills chunks to 64 lines but for the last of each prompt', () => {
    expect(Math.max(...chunks.map((chunk) => chunk.lines.length))).toBe(64);
    expect(chunks.filter((chunk) => chunk.lines.length < 64).length).toBeLessThanOrEqual(20);
  });

  it('numbers in stripes: twenty claims in a row have twenty prefixes', () => {
    for (const from of [0, 20, 60]) {
      const prefixes = chunks.slice(from, from + 20).map((chunk) => chunk.prefix);
      expect(new Set(prefixes).size).toBe(20);
    }
  });

  it('adds the estimates up', () => {
    expect(chunks.reduce((sum, chunk) => sum + chunk.est, 0)).toBe(100_000);
    expect(chunks[0]?.est).toBe(chunks[0]!.lines.length * 10);
  });
});

describe('planChunks', () => {
  it('leaves a group whole that is at most twice the size', () => {
    // 64 lines: the size is 4, so a group of 8 stays whole and one of 9 is cut.
    const group = (name: string, n: number) =>
      Array.from({ length: n }, (_, at) => ({ system: system(name), user: `${at}` }));
    const rest = Array.from({ length: 47 }, (_, at) => ({ user: `nothing in common ${at}` }));
    const chunks = plan([...group('a', 8), ...group('b', 9), ...rest]).filter((chunk) => chunk.prefix !== '');
    expect(chunks.map((chunk) => chunk.lines.length).toSorted((a, b) => a - b)).toEqual([1, 4, 4, 8]);
  });

  it('never mixes models, and counts an alias as its model', () => {
    const lines = Array.from({ length: 30 }, (_, at) => ({
      model: ['m', 'alias', 'other'][at % 3]!,
      system: system('a'),
      user: `${at}`,
    }));
    const chunks = plan(lines, (name) => (name === 'alias' ? 'm' : name));
    for (const chunk of chunks) {
      const models = new Set(
        linesOf(chunk).map((line) => (lines[line]!.model === 'alias' ? 'm' : lines[line]!.model)),
      );
      expect([...models]).toEqual([chunk.model]);
    }
    expect(new Set(chunks.map((chunk) => chunk.model))).toEqual(new Set(['m', 'other']));
    const mixed = chunks.find((chunk) => chunk.model === 'm');
    expect(new Set(linesOf(mixed!).map((line) => lines[line]!.model))).toEqual(new Set(['m', 'alias']));
  });

  it('cuts prompts without anything in common into full chunks of neighbours in the file', () => {
    const lines = Array.from({ length: 1_000 }, (_, at) => ({ user: `${at} is alone `.repeat(200) }));
    const chunks = plan(lines);
    for (const [at, chunk] of chunks.entries()) {
      expect(linesOf(chunk)).toEqual(Array.from({ length: chunk.lines.length }, (_, i) => at * 63 + i));
      if (chunk.lines.length > 1) expect(chunk.prefix).toBe('');
    }
    expect(chunks.slice(0, -1).every((chunk) => chunk.lines.length === 63)).toBe(true);
  });

  it('puts pairs behind the loners, next to each other', () => {
    const lines: Line[] = [];
    for (let at = 0; at < 300; at++) {
      lines.push({ user: `alone ${at} `.repeat(200) });
      if (at % 10 === 0)
        for (let n = 0; n < 2; n++) lines.push({ system: system(`pair ${at}`), user: `${n}` });
    }
    const order = plan(lines).flatMap(linesOf);
    const isPair = (line: number) => lines[line]!.system !== undefined;
    expect(order.findIndex(isPair)).toBe(300);
    for (let at = 300; at < order.length; at += 2)
      expect(lines[order[at]!]!.system).toBe(lines[order[at + 1]!]!.system);
  });

  it('takes no prefix under 1,024 bytes for one', () => {
    const short = Array.from({ length: 8 }, (_, at) => ({ system: system('a', 900), user: `${at}` }));
    const long = Array.from({ length: 8 }, (_, at) => ({ system: system('a', 1_100), user: `${at}` }));
    expect(plan(short).map((chunk) => chunk.prefix)).toEqual(['']);
    expect(plan(long)[0]?.prefix).toMatch(/^[0-9a-f]{8}$/);
  });

  it('keeps nested prefixes together, and cuts where the deeper one ends', () => {
    const base = system('base', 3_000);
    const deep = (name: string) => base + system(name, 9_000);
    const lines = shuffled([
      ...Array.from({ length: 40 }, (_, at) => ({ system: deep('x'), user: `${at}` })),
      ...Array.from({ length: 40 }, (_, at) => ({ system: deep('y'), user: `${at}` })),
    ]);
    for (const chunk of plan(lines)) {
      const systems = new Set(linesOf(chunk).map((line) => lines[line]!.system));
      if (chunk.lines.length >= 5) expect(systems.size).toBe(1);
    }
  });

  it('plans one line, and none', () => {
    expect(plan([{ user: 'hi' }])).toMatchObject([{ seq: 1, model: 'm', prefix: '', epoch: 0, kills: 0 }]);
    expect(plan([])).toEqual([]);
  });

  it('always plans every line exactly once, in chunks of one model and at most 64 lines', () => {
    const line = fc.record({
      model: fc.constantFrom('m', 'n'),
      system: fc.option(fc.constantFrom(system('a'), system('b', 1_500), system('c', 40_000)), {
        nil: undefined,
      }),
      user: fc.constantFrom('x', 'y'.repeat(3_000)),
    });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 200 }), (lines) => {
        const chunks = plan(lines);
        expect(chunks.flatMap(linesOf).toSorted((a, b) => a - b)).toEqual(lines.map((_, at) => at));
        for (const chunk of chunks) {
          expect(chunk.lines.length).toBeLessThanOrEqual(64);
          expect(new Set(linesOf(chunk).map((at) => lines[at]!.model))).toEqual(new Set([chunk.model]));
        }
      }),
      { numRuns: 30 },
    );
  });
});
