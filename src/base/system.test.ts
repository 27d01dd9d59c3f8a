import { describe, expect, it } from 'vitest';
import { systemRandom } from './system.ts';

describe('systemRandom', () => {
  it('never hands out the same bytes twice', () => {
    const seen = new Set<string>();
    for (let i = 0; i < 2_000; i++) seen.add(Buffer.from(systemRandom.bytes(16)).toString('hex'));
    expect(seen.size).toBe(2_000);
  });

  it('hands out bytes that nobody else can change, of any length', () => {
    const first = systemRandom.bytes(32);
    const copy = Uint8Array.from(first);
    for (let i = 0; i < 300; i++) systemRandom.bytes(32);
    expect(first).toEqual(copy);
    expect(systemRandom.bytes(10_000)).toHaveLength(10_000);
  });
});
