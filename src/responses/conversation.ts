import { isId } from '../base/ids.ts';
import { ApiError, invalid } from '../core/errors.ts';
import type { StoredResponse } from '../core/response.ts';
import type { ResponseStore } from '../store/store.ts';
import { findItem, responseOfItem } from '../wire/responses/item-ids.ts';
import type { OutputItem, ResponsesRequest, StoredItem } from '../wire/responses/responses.ts';
import type { PlacedItem } from '../wire/responses/to-chat-messages.ts';

/** Longer conversations fit into no model; reading them would only fill the memory. */
const most = { links: 1_000, chars: 64_000_000 };

export interface Reader {
  responses: ResponseStore;
  orgId: string;
  now: number;
}

/** All that is said before the model answers, oldest first, and of it what this request brought. */
export interface Conversation {
  items: PlacedItem[];
  /** The input with its references resolved, to be stored. */
  own: StoredItem[];
}

/**
 * What came before by `previous_response_id`, then the input, whose references are looked up.
 * @throws ApiError `previous_response_not_found`, `not_found` for a reference to nothing, `validation_error` for a
 * response that has no answer to go on from
 */
export async function readConversation(
  reader: Reader,
  request: ResponsesRequest,
  input: readonly StoredItem[],
): Promise<Conversation> {
  const previous = request.previous_response_id ?? null;
  const before = previous === null ? [] : await readChain(reader, previous);
  const own = await resolved(reader, input);
  const path = (index: number) => (typeof request.input === 'string' ? 'input' : `input[${index}]`);
  return {
    items: [
      ...before.map((item) => ({ item, path: 'previous_response_id' })),
      ...own.map((item, index) => ({ item, path: path(index) })),
    ],
    own,
  };
}

async function readChain({ responses, orgId, now }: Reader, id: string): Promise<StoredItem[]> {
  if (!isId('resp_', id)) throw previousNotFound('There is no such response');
  const { links, end } = await responses.chain(orgId, id, now, most);
  const newest = links[0];
  if (!newest) throw previousNotFound('There is no such response');
  if (newest.status !== 'completed' && newest.status !== 'incomplete')
    throw invalid('previous_response_id', `the response has no answer to go on from: it is ${newest.status}`);
  if (end === 'gone') throw previousNotFound('A response that it continues is gone');
  if (end === 'cut')
    throw invalid(
      'previous_response_id',
      `the conversation has more than ${most.links} responses, or more than ${most.chars} characters`,
    );
  return links.toReversed().flatMap(itemsOf);
}

function previousNotFound(what: string): ApiError {
  return new ApiError(
    'previous_response_not_found',
    `previous_response_id: ${what}; it was deleted, or it has expired. Send the whole conversation as input.`,
    { param: 'previous_response_id' },
  );
}

/** What a response was asked and what it answered. */
export function itemsOf({ input, body }: StoredResponse): StoredItem[] {
  const { output } = JSON.parse(body) as { output: OutputItem[] };
  return [...(JSON.parse(input) as StoredItem[]), ...(output as unknown as StoredItem[])];
}

async function resolved(reader: Reader, input: readonly StoredItem[]): Promise<StoredItem[]> {
  const known = new Map<string, Promise<StoredItem[]>>();
  return Promise.all(
    input.map(async (item, index) => {
      if (item.type !== 'item_reference') return item;
      const from = responseOfItem(item.id);
      if (from !== undefined && !known.has(from)) known.set(from, readItems(reader, from));
      const found = findItem((await known.get(from ?? '')) ?? [], item.id);
      if (found) return found;
      const param = `input[${index}].id`;
      throw new ApiError('not_found', `${param}: no stored response has such an item.`, { param });
    }),
  );
}

async function readItems({ responses, orgId, now }: Reader, id: string): Promise<StoredItem[]> {
  const response = await responses.get(orgId, id, now);
  return response ? itemsOf(response) : [];
}
