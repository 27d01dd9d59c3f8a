import { expect, it } from 'vitest';
import type { PageSlices } from '../../base/page-slices.ts';
import type { Answer } from './answer.ts';
import { listAnswer } from './list-answer.ts';

const present = (id: string) => ({ id, name: `of ${id}` });

/** Page of these slices, and the number of slices that were read. */
function pageOf(slices: string[][], hasMore: boolean) {
  const page = { read: 0, slices: slicesOf() };
  return page;
  async function* slicesOf(): PageSlices<string> {
    for (const slice of slices) {
      page.read++;
      yield slice;
    }
    return hasMore;
  }
}

async function textOf(answer: Answer): Promise<string> {
  if (answer.kind === 'json') return answer.text;
  if (answer.kind !== 'bytes') throw new Error('expected no events');
  const parts: Uint8Array[] = [];
  for await (const part of answer.bytes ?? []) parts.push(part);
  return Buffer.concat(parts).toString();
}

it.each<[kind: Answer['kind'], slices: string[][]]>([
  ['json', []],
  ['json', [[]]],
  ['json', [['a', 'b']]],
  ['bytes', [['a'], ['b']]],
  ['bytes', [['a'], ['b'], ['c', 'd']]],
  // Items of a slice may have been deleted meanwhile.
  ['bytes', [['a'], [], ['b'], []]],
  ['bytes', [[], [], ['a'], ['b']]],
  ['bytes', [[], [], []]],
])('has one body for any slices: %s of %j', async (kind, slices) => {
  for (const hasMore of [true, false]) {
    const answer = await listAnswer(pageOf(slices, hasMore).slices, {
      present,
      owner: 'org',
      more: { currency: 'USD' },
    });
    const ids = slices.flat();
    expect([answer.kind, JSON.parse(await textOf(answer))]).toEqual([
      kind,
      {
        object: 'list',
        data: ids.map(present),
        first_id: ids[0] ?? null,
        last_id: ids.at(-1) ?? null,
        has_more: hasMore,
        currency: 'USD',
      },
    ]);
  }
});

it('reads a slice only when its reader wants more (attack 7)', async () => {
  const page = pageOf([['a'], ['b'], ['c'], ['d'], ['e']], true);
  const answer = await listAnswer(page.slices, { present, owner: 'org' });
  if (answer.kind !== 'bytes' || !answer.bytes) throw new Error('expected bytes');
  const text = answer.bytes[Symbol.asyncIterator]();
  for (const read of [2, 2, 3, 4]) {
    await text.next();
    expect(page.read).toBe(read);
  }
});
