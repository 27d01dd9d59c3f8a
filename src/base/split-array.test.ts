import { array, assert, asyncProperty, integer, jsonValue } from 'fast-check';
import { expect, it } from 'vitest';
import { splitArray } from './split-array.ts';

async function itemsOf(text: string, size: number): Promise<string[]> {
  const bytes = Buffer.from(text);
  const chunks = async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  };
  const items: string[] = [];
  for await (const item of splitArray(chunks())) items.push(Buffer.from(item).toString());
  return items;
}

it('returns each item of an array, for any chunking', async () => {
  await assert(
    asyncProperty(array(jsonValue()), integer({ min: 1, max: 9 }), async (values, size) => {
      for (const indent of [undefined, 2]) {
        const items = await itemsOf(`\uFEFF ${JSON.stringify(values, null, indent)} `, size);
        expect(items.map((item) => JSON.parse(item) as unknown)).toEqual(JSON.parse(JSON.stringify(values)));
      }
    }),
  );
});

it('returns the rest of an array that is cut off', async () => {
  expect(await itemsOf('[{"a":1}, {"b":', 4)).toEqual(['{"a":1}', ' {"b":']);
  expect(await itemsOf('[]', 4)).toEqual([]);
});
