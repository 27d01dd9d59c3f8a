import { isId } from '../base/ids.ts';
import { ApiError, invalid } from '../core/errors.ts';
import type { ConversationStore } from '../store/contract/conversations.ts';
import type { ChainLink } from '../store/contract/responses.ts';
import { conversationOf } from '../wire/responses/request/request.ts';
import type { ResponsesRequest, StoredItem } from '../wire/responses/responses.ts';
import { pathOfItem } from '../wire/responses/stored-items.ts';
import type { PlacedItem } from '../wire/responses/request/to-chat-messages.ts';
import {
  createItemReader,
  type ItemReader,
  CooperativeParsing,
  referencesIn,
  type ItemReaderDeps,
} from './stored-items.ts';

/** Looking up more would keep the database from others. */
const mostLinks = 1_000;

/** A response that is not stored, or continues one that is not, with all that came before it. */
export interface RememberedResponse {
  id: string;
  items: readonly StoredItem[];
  bytes: number;
}

export interface ConversationReaderDeps extends ItemReaderDeps {
  conversations: ConversationStore;
  /** A response that can be continued although it is not stored. */
  remembered?: RememberedResponse | undefined;
  /** Bytes of a whole conversation, and of all that is read to put it together. */
  maxBytes: number;
  /** Waits until so many bytes of stored text may be held; what it returns gives them back. */
  enter(bytes: number): Promise<() => void>;
}

/** All that is said before the model answers, oldest first. */
export interface Conversation {
  items: PlacedItem[];
  /** Bytes of what came before the input. */
  saidBytes: number;
  /** Bytes of the items that the input refers to. */
  namedBytes: number;
  /** To be called when nobody needs the items any more. */
  leave(): void;
}

/** What was said before the input, of which it is known how much it is. */
interface History {
  bytes: number;
  /** Where the request names it. */
  path: string;
  read(kept: ItemReader): Promise<StoredItem[]>;
}

/**
 * What came before by `previous_response_id` or `conversation`, then the input, whose references are looked up. The store
 * tells how much it is before anything is read; what comes to more than the limit is not put together.
 * @param requestBytes of the request itself
 * @throws ApiError `previous_response_not_found`, `not_found` for a conversation that is gone and for a reference to nothing,
 * `validation_error` for a response that has no answer to go on from, and for a conversation that is too large
 */
export function readConversation(
  reader: ConversationReaderDeps,
  request: ResponsesRequest,
  input: readonly StoredItem[],
  requestBytes: number,
): Conversation | Promise<Conversation> {
  const own = input.map((item, index) => ({ item, path: pathOfItem(request.input, index) }));
  const references = referencesIn(input);
  const isAll = references.length === 0 && (request.previous_response_id ?? conversationOf(request)) === null;
  // Most requests hold all that is said.
  if (isAll) return { items: own, saidBytes: 0, namedBytes: 0, leave() {} };
  return putTogether(reader, request, { own, references, requestBytes });
}

async function putTogether(
  reader: ConversationReaderDeps,
  request: ResponsesRequest,
  { own, references, requestBytes }: { own: PlacedItem[]; references: string[]; requestBytes: number },
): Promise<Conversation> {
  const before = await findBefore(reader, request, requestBytes);
  const { maxBytes } = reader;
  const saidBytes = before?.bytes ?? 0;
  const kept = createItemReader(reader);
  const sizes = await kept.sizes(references);
  if (requestBytes + sizes.read > maxBytes)
    throw tooLarge(maxBytes, 'input', 'the responses it refers to, and the request, hold');
  const leave = await reader.enter(Math.min(maxBytes, saidBytes + sizes.named));
  try {
    const items: PlacedItem[] = [];
    if (before) for (const item of await before.read(kept)) items.push({ item, path: before.path });
    await kept.read(references);
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
      if (requestBytes + saidBytes + namedBytes > maxBytes)
        throw tooLarge(maxBytes, param, 'up to this item the conversation has');
      items.push({ ...placed, item: named.item });
    }
    return { items, saidBytes, namedBytes, leave };
  } catch (error) {
    leave();
    throw error;
  }
}

async function findBefore(
  reader: ConversationReaderDeps,
  request: ResponsesRequest,
  requestBytes: number,
): Promise<History | null> {
  const conversation = conversationOf(request);
  if (conversation !== null) return findKept(reader, conversation, requestBytes);
  const previous = request.previous_response_id ?? null;
  if (previous === null) return null;
  const { remembered, maxBytes } = reader;
  if (previous === remembered?.id) {
    if (requestBytes + remembered.bytes > maxBytes)
      throw tooLarge(maxBytes, 'previous_response_id', 'with this request the conversation has');
    return { bytes: remembered.bytes, path: 'previous_response_id', read: async () => [...remembered.items] };
  }
  const links = await findChain(reader, previous, requestBytes);
  return {
    bytes: links.reduce((sum, link) => sum + link.saidBytes, 0),
    path: 'previous_response_id',
    read: (kept) => readChain(kept, links, reader.maxBytes),
  };
}

/** A conversation that is kept by itself. */
async function findKept(reader: ConversationReaderDeps, id: string, requestBytes: number): Promise<History> {
  const { conversations, orgId, now, maxBytes } = reader;
  const found = isId('conv_', id) ? await conversations.get(orgId, id, now) : undefined;
  if (!found)
    throw new ApiError(
      'not_found',
      'conversation: There is no such conversation; it was deleted, or it has expired. Create another one.',
      { param: 'conversation' },
    );
  if (requestBytes + found.bytes > maxBytes)
    throw tooLarge(maxBytes, 'conversation', 'with this request the conversation has');
  return {
    bytes: found.bytes,
    path: 'conversation',
    async read() {
      const items: StoredItem[] = [];
      const turns = new CooperativeParsing();
      for (const text of await conversations.texts(id)) {
        items.push(JSON.parse(text) as StoredItem);
        await turns.parsed(text.length);
      }
      return items;
    },
  };
}

/** The links of a conversation, oldest first, without their texts. */
async function findChain(
  reader: ConversationReaderDeps,
  id: string,
  requestBytes: number,
): Promise<ChainLink[]> {
  if (!isId('resp_', id)) throw previousNotFound('There is no such response');
  const { responses, orgId, now, maxBytes } = reader;
  const most = { links: mostLinks, bytes: maxBytes - requestBytes };
  const { links, end } = await responses.chain(orgId, id, now, most);
  const newest = links[0];
  if (!newest) throw previousNotFound('There is no such response');
  if (newest.status !== 'completed' && newest.status !== 'incomplete')
    throw invalid('previous_response_id', `the response has no answer to go on from: it is ${newest.status}`);
  if (end === 'conversation')
    throw invalid(
      'previous_response_id',
      'what it continues is kept in a conversation, which may have gone on since: send conversation instead',
    );
  if (end === 'gone') throw previousNotFound('A response that it continues is gone');
  if (end === 'large')
    throw tooLarge(maxBytes, 'previous_response_id', 'with this request the conversation has');
  if (end === 'long')
    throw invalid(
      'previous_response_id',
      `the conversation has more than ${mostLinks} responses: send what matters of it as input, without previous_response_id`,
    );
  return links.toReversed();
}

/** What the links say, with the items that they refer to in their places. */
async function readChain(
  kept: ItemReader,
  links: readonly ChainLink[],
  maxBytes: number,
): Promise<StoredItem[]> {
  const said = await kept.readAll(links.map(({ id }) => id));
  const references = referencesIn(said);
  if (references.length === 0) return said;
  const { read } = await kept.sizes(references);
  if (read > maxBytes)
    throw tooLarge(maxBytes, 'previous_response_id', 'the responses that the conversation refers to hold');
  await kept.read(references);
  return said.map((item) => {
    if (item.type !== 'item_reference') return item;
    const named = kept.named(item.id);
    if (!named) throw previousNotFound('A response that it refers to is gone');
    return named.item;
  });
}

function tooLarge(maxBytes: number, param: string, what: string): ApiError {
  return invalid(
    param,
    `${what} more than ${maxBytes} bytes, the most that is put together (limits.conversation_bytes): ` +
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
