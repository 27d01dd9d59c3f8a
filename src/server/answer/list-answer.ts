import { heavySlices } from '../../base/loop-slices.ts';
import type { PageSlices } from '../../base/page-slices.ts';
import { listBody } from '../../wire/shared/list-body.ts';
import { type Answer, bytes, json } from './answer.ts';

type Item = { id: string };

export interface ListAnswerOptions<T> {
  present: (item: T) => Item;
  /** Org that asks. */
  owner: string;
  /** More members of the body, after those of every list. */
  more?: object;
}

/**
 * Answer of a list. A page of several slices is presented and written slice by slice, as fast as the client reads it, each in a turn
 * of the event loop, so that a long page blocks no other request and is never in memory as a whole. A failure after the first slices
 * ends the answer early.
 */
export async function listAnswer<T>(slices: PageSlices<T>, options: ListAnswerOptions<T>): Promise<Answer> {
  const { present, owner, more } = options;
  const begin: Item[] = [];
  // The second step ends a page of one slice.
  for (let step = 0; step < 2; step++) {
    const { done, value } = await slices.next();
    if (done) return json(200, { ...listBody(begin, value), ...more });
    if (step > 0) await heavySlices.next(owner);
    begin.push(...value.map(present));
  }
  return bytes(listText(begin, slices, options), { 'content-type': 'application/json; charset=utf-8' });
}

async function* listText<T>(
  begin: readonly Item[],
  slices: PageSlices<T>,
  { present, owner, more }: ListAnswerOptions<T>,
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
      await heavySlices.next(owner);
      yield textOf(value.map(present));
      continue;
    }
    const { first_id, last_id, has_more } = listBody(first && last ? [first, last] : [], value);
    return yield Buffer.from(`],${JSON.stringify({ first_id, last_id, has_more, ...more }).slice(1)}`);
  }
}
