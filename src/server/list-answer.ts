import type { PageSlices } from '../base/page-slices.ts';
import { listBody } from '../wire/shared/list-body.ts';
import { type Answer, bytes, json } from './answer.ts';

type Item = { id: string };

/**
 * Answer of a list. A page of several slices is presented and written slice by slice, as fast as the client reads it, so that a long
 * page blocks no other request and is never in memory as a whole. A failure after the first slices ends the answer early.
 */
export async function listAnswer<T>(slices: PageSlices<T>, present: (item: T) => Item): Promise<Answer> {
  const begin: Item[] = [];
  // The second step ends a page of one slice.
  for (let step = 0; step < 2; step++) {
    const { done, value } = await slices.next();
    if (done) return json(200, listBody(begin, value));
    begin.push(...value.map(present));
  }
  return bytes(listText(begin, slices, present), { 'content-type': 'application/json; charset=utf-8' });
}

async function* listText<T>(
  begin: readonly Item[],
  slices: PageSlices<T>,
  present: (item: T) => Item,
): AsyncGenerator<Uint8Array> {
  let [first, last]: (Item | undefined)[] = [];
  const textOf = (items: readonly Item[]) => {
    const separator = first && items.length > 0 ? ',' : '';
    first ??= items[0];
    last = items.at(-1) ?? last;
    return Buffer.from(separator + items.map((item) => JSON.stringify(item)).join(','));
  };
  yield Buffer.from('{"object":"list","data":[');
  yield textOf(begin);
  for (;;) {
    const { done, value } = await slices.next();
    if (!done) {
      yield textOf(value.map(present));
      continue;
    }
    const { first_id, last_id, has_more } = listBody(first && last ? [first, last] : [], value);
    return yield Buffer.from(`],${JSON.stringify({ first_id, last_id, has_more }).slice(1)}`);
  }
}
