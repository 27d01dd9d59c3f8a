import { expect, it } from 'vitest';
import type { CheckedLine } from '../wire/batch/line.ts';
import { IndexBuilder } from './index-builder.ts';
import { prefixHashes, prefixLevels } from './prefix-hashes.ts';

it('keeps the prefix hashes of every line in its place, however many there are', () => {
  const builder = new IndexBuilder();
  const contents = Array.from({ length: 1_100 }, (_, at) => `${at} `.repeat((at % 40) * 20));
  const chatOf = (content: string) => ({ messages: [{ role: 'user' as const, content }] });
  for (const [at, content] of contents.entries()) {
    const chat = { model: 'm', ...chatOf(content) };
    // Every third shares no prompt.
    const prompt = at % 3 === 0 ? null : { chat, output: 1, moved: (fault: never) => fault };
    const checked = { model: 'm', est: 1, prompt } as unknown as CheckedLine;
    const bytes = Buffer.from(content);
    builder.add({ offset: at, length: bytes.length, bytes }, checked);
  }
  const { count, hashes } = builder.build();
  expect([count, hashes.length]).toEqual([1_100, 1_100 * prefixLevels]);
  for (const [at, content] of contents.entries()) {
    const expected = at % 3 === 0 ? new Uint32Array(prefixLevels) : prefixHashes(chatOf(content));
    expect(hashes.slice(at * prefixLevels, (at + 1) * prefixLevels), `line ${at}`).toEqual(expected);
  }
});
