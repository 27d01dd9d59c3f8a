import { isId } from '../base/ids.ts';
import { ApiError, invalid } from '../core/errors.ts';
import type { ChainLink } from '../store/store.ts';
import type { ResponsesRequest, StoredItem } from '../wire/responses/responses.ts';
import type { PlacedItem } from '../wire/responses/to-chat-messages.ts';
import { createKeptItems, type KeptItems, referencesIn, type Source } from './kept-items.ts';

/** Looking up more would keep the database from others. */
const mostLinks = 1_000;

export interface Reader extends Source {
  /** Bytes of a whole conversation, and of all that is read to put it together. */
  mostBytes: number;
  /** Waits until so many bytes of stored text may be held; what it returns gives them back. */
  enter(bytes: number): Promise<() => void>;
}

/** All that is said before the model answers, oldest first. */
export interface Conversation {
  items: PlacedItem[];
  /** Bytes of the items that the input refers to. */
  namedBytes: number;
  /** To be called when nobody needs the items any more. */
  leave(): void;
}

/**
 * What came before by `previous_response_id`, then the input, whose references are looked up. The store tells how much it
 * is before anything is read; what comes to more than the limit is not put together.
 * @param requestBytes of the request itself
 * @throws ApiError `previous_response_not_found`, `not_found` for a reference to nothing, `validation_error` for a
 * response that has no answer to go on from, and for a conversation that is too large
 */
export async function readConversation(
  reader: Reader,
  request: ResponsesRequest,
  input: readonly StoredItem[],
  requestBytes: number,
): Promise<Conversation> {
  const pathOf = (index: number) => (typeof request.input === 'string' ? 'input' : `input[${index}]`);
  const own = input.map((item, index) => ({ item, path: pathOf(index) }));
  const references = referencesIn(input);
  const previous = request.previous_response_id ?? null;
  if (previous === null && references.length === 0) return { items: own, namedBytes: 0, leave() {} };

  const { mostBytes } = reader;
  const links = previous === null ? [] : await findChain(reader, previous, requestBytes);
  const saidBytes = links.reduce((sum, link) => sum + link.saidBytes, 0);
  const kept = createKeptItems(reader);
  const sizes = await kept.sizes(references);
  if (requestBytes + sizes.read > mostBytes)
    throw tooLarge(mostBytes, 'input', 'the responses it refers to, and the request, hold');
  const leave = await reader.enter(Math.min(mostBytes, saidBytes + sizes.named));
  try {
    const before = await readChain(kept, links, mostBytes);
    await kept.read(references);
    const items: PlacedItem[] = before.map((item) => ({ item, path: 'previous_response_id' }));
    let namedBytes = 0;
    for (const placed of own) {
      if (placed.item.type !== 'item_reference') {
        items.push(placed);
        continue;
      }
      const param = `${placed.path}.id`;
      const named = kept.named(placed.item.id);
      if (!named)
        throw new ApiError('not_found', `${param}: no stored response has such an item.`, { param });
      namedBytes += named.bytes;
      if (requestBytes + saidBytes + namedBytes > mostBytes)
        throw tooLarge(mostBytes, param, 'up to this item the conversation has');
      items.push({ ...placed, item: named.item });
    }
    return { items, namedBytes, leave };
  } catch (error) {
    leave();
    throw error;
  }
}

/** The links of a conversation, oldest first, without their texts. */
async function findChain(reader: Reader, id: string, requestBytes: number): Promise<ChainLink[]> {
  if (!isId('resp_', id)) throw previousNotFound('There is no such response');
  const { responses, orgId, now, mostBytes } = reader;
  const most = { links: mostLinks, bytes: mostBytes - requestBytes };
  const { links, end } = await responses.chain(orgId, id, now, most);
  const newest = links[0];
  if (!newest) throw previousNotFound('There is no such response');
  if (newest.status !== 'completed' && newest.status !== 'incomplete')
    throw invalid('previous_response_id', `the response has no answer to go on from: it is ${newest.status}`);
  if (end === 'gone') throw previousNotFound('A response that it continues is gone');
  if (end === 'large')
    throw tooLarge(mostBytes, 'previous_response_id', 'with this request the conversation has');
  if (end === 'long')
    throw invalid(
      'previous_response_id',
      `the conversation has more than ${mostLinks} responses: send what matters of it as input, without previous_response_id`,
    );
  return links.toReversed();
}

/** What the links say, with the items that they refer to in their places. */
async function readChain(
  kept: KeptItems,
  links: readonly ChainLink[],
  mostBytes: number,
): Promise<StoredItem[]> {
  const said = await kept.readAll(links.map(({ id }) => id));
  const references = referencesIn(said);
  if (references.length === 0) return said;
  const { read } = await kept.sizes(references);
  if (read > mostBytes)
    throw tooLarge(mostBytes, 'previous_response_id', 'the responses that the conversation refers to hold');
  await kept.read(references);
  return said.map((item) => {
    if (item.type !== 'item_reference') return item;
    const named = kept.named(item.id);
    if (!named) throw previousNotFound('A response that it refers to is gone');
    return named.item;
  });
}

function tooLarge(mostBytes: number, param: string, what: string): ApiError {
  return invalid(
    param,
    `${what} more than ${mostBytes} bytes, the most that is put together (limits.conversation_bytes): ` +
      'leave out what the answer does not need, and send the rest as input',
  );
}

function previousNotFound(what: string): ApiError {
  return new ApiError(
    'previous_response_not_found',
    `previous_response_id: ${what}; it was deleted, or it has expired. Send the whole conversation as input.`,
    { param: 'previous_response_id' },
  );
}
