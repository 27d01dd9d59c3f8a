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

/** Maximum responses in a chain; a longer query would block the database. */
const maxLinks = 1_000;

/** Response that is not stored, or continues one that is not, with all earlier items. */
export interface RememberedResponse {
  id: string;
  items: readonly StoredItem[];
  bytes: number;
}

export interface ConversationReaderDeps extends ItemReaderDeps {
  conversations: ConversationStore;
  /** Unstored response that can be continued. */
  remembered?: RememberedResponse | undefined;
  /** Maximum bytes of a conversation, and of all that is read to assemble it. */
  maxBytes: number;
  /** Waits for memory for stored text; the returned function frees it. */
  enter(bytes: number): Promise<() => void>;
}

/** Conversation up to the answer, oldest item first. */
export interface Conversation {
  items: PlacedItem[];
  /** Bytes of the items before the input. */
  saidBytes: number;
  /** Bytes of the items that the input refers to. */
  namedBytes: number;
  /** Frees the memory of the items. */
  leave(): void;
}

/** Items before the input, of known size. */
interface History {
  bytes: number;
  /** Field of the request that refers to it. */
  path: 'conversation' | 'previous_response_id';
  read(reader: ItemReader): Promise<readonly StoredItem[]>;
}

/**
 * Assembles the items of `previous_response_id` or `conversation`, then the input with its references resolved. Sizes are
 * checked before anything is read.
 * @throws ApiError `previous_response_not_found`; `not_found` for an unknown conversation or item; `validation_error` for a
 * response without an answer, and for a conversation that is too large
 */
export function readConversation(
  deps: ConversationReaderDeps,
  request: ResponsesRequest,
  input: readonly StoredItem[],
  requestBytes: number,
): Conversation | Promise<Conversation> {
  const own = input.map((item, index) => ({ item, path: pathOfItem(request.input, index) }));
  const references = referencesIn(input);
  const isAll = references.length === 0 && (request.previous_response_id ?? conversationOf(request)) === null;
  // Most requests contain the whole conversation.
  if (isAll) return { items: own, saidBytes: 0, namedBytes: 0, leave() {} };
  return assemble(deps, request, { own, references, requestBytes });
}

async function assemble(
  deps: ConversationReaderDeps,
  request: ResponsesRequest,
  { own, references, requestBytes }: { own: PlacedItem[]; references: string[]; requestBytes: number },
): Promise<Conversation> {
  const { maxBytes } = deps;
  const history = await findHistory(deps, request, requestBytes);
  const saidBytes = history?.bytes ?? 0;
  if (history && requestBytes + saidBytes > maxBytes)
    throw tooLarge(maxBytes, history.path, 'with this request the conversation has');
  const reader = createItemReader(deps);
  const sizes = await reader.sizes(references);
  if (requestBytes + sizes.read > maxBytes)
    throw tooLarge(maxBytes, 'input', 'the request and the responses it refers to have');
  const leave = await deps.enter(Math.min(maxBytes, saidBytes + sizes.named));
  try {
    const items: PlacedItem[] = [];
    if (history) for (const item of await history.read(reader)) items.push({ item, path: history.path });
    await reader.read(references);
    let namedBytes = 0;
    for (const placed of own) {
      if (placed.item.type !== 'item_reference') {
        items.push(placed);
        continue;
      }
      const param = `${placed.path}.id`;
      const named = reader.named(placed.item.id);
      if (!named) throw new ApiError('not_found', `${param}: no stored response has this item.`, { param });
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

async function findHistory(
  deps: ConversationReaderDeps,
  request: ResponsesRequest,
  requestBytes: number,
): Promise<History | null> {
  const conversation = conversationOf(request);
  if (conversation !== null) return findConversation(deps, conversation);
  const previous = request.previous_response_id ?? null;
  if (previous === null) return null;
  const path = 'previous_response_id';
  const { remembered, maxBytes } = deps;
  if (previous === remembered?.id)
    return { bytes: remembered.bytes, path, read: async () => remembered.items };
  const links = await findChain(deps, previous, requestBytes);
  return {
    bytes: links.reduce((sum, link) => sum + link.saidBytes, 0),
    path,
    read: (reader) => readChain(reader, links, maxBytes),
  };
}

async function findConversation(deps: ConversationReaderDeps, id: string): Promise<History> {
  const { conversations, orgId, now } = deps;
  const found = isId('conv_', id) ? await conversations.get(orgId, id, now) : undefined;
  if (!found)
    throw new ApiError(
      'not_found',
      'conversation: There is no such conversation; it was deleted or has expired. Create another one.',
      { param: 'conversation' },
    );
  return {
    bytes: found.bytes,
    path: 'conversation',
    async read() {
      const items: StoredItem[] = [];
      const parsing = new CooperativeParsing();
      for (const text of await conversations.texts(id)) {
        items.push(JSON.parse(text) as StoredItem);
        await parsing.parsed(text.length);
      }
      return items;
    },
  };
}

/** Chain of responses, oldest first, without their texts. */
async function findChain(
  { responses, orgId, now, maxBytes }: ConversationReaderDeps,
  id: string,
  requestBytes: number,
): Promise<ChainLink[]> {
  if (!isId('resp_', id)) throw previousNotFound('There is no such response');
  const limits = { links: maxLinks, bytes: maxBytes - requestBytes };
  const { links, end } = await responses.chain(orgId, id, now, limits);
  const newest = links[0];
  if (!newest) throw previousNotFound('There is no such response');
  if (newest.status !== 'completed' && newest.status !== 'incomplete')
    throw invalid('previous_response_id', `cannot continue a response that is ${newest.status}`);
  if (end === 'conversation')
    throw invalid(
      'previous_response_id',
      'it continues a stored conversation, which may have grown since: send conversation instead',
    );
  if (end === 'gone') throw previousNotFound('A response that it continues is missing');
  if (end === 'large')
    throw tooLarge(maxBytes, 'previous_response_id', 'with this request the conversation has');
  if (end === 'long')
    throw invalid(
      'previous_response_id',
      `the conversation has more than ${maxLinks} responses: send the relevant part as input, without previous_response_id`,
    );
  return links.toReversed();
}

/** Items of a chain, with references resolved. */
async function readChain(reader: ItemReader, links: readonly ChainLink[], maxBytes: number) {
  const items = await reader.readAll(links.map(({ id }) => id));
  const references = referencesIn(items);
  if (references.length === 0) return items;
  const { read } = await reader.sizes(references);
  if (read > maxBytes)
    throw tooLarge(maxBytes, 'previous_response_id', 'the responses that the conversation refers to have');
  await reader.read(references);
  return items.map((item) => {
    if (item.type !== 'item_reference') return item;
    const named = reader.named(item.id);
    if (!named) throw previousNotFound('A response that it refers to is missing');
    return named.item;
  });
}

function tooLarge(maxBytes: number, param: string, what: string): ApiError {
  return invalid(
    param,
    `${what} more than ${maxBytes} bytes (limits.conversation_bytes): send only what the answer needs, as input`,
  );
}

function previousNotFound(what: string): ApiError {
  return new ApiError(
    'previous_response_not_found',
    `previous_response_id: ${what}; it was deleted or has expired. Send the whole conversation as input.`,
    { param: 'previous_response_id' },
  );
}
