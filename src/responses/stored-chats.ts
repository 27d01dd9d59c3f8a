import type { PageSlices } from '../base/page-slices.ts';
import { isId } from '../base/ids.ts';
import { notFound } from '../core/errors.ts';
import { familyOf } from '../core/key-family.ts';
import { type ChatQuery, isFiltered } from '../core/stored-chat.ts';
import type { Caller } from '../core/org.ts';
import type { ChatWithoutMessages, SizedChat } from '../store/contract/chats.ts';
import type { ChatChunks, ChatMessage, ChatResponse } from '../wire/chat/chat.ts';
import { ChunkFolder } from '../wire/chat/stream/fold-chunks.ts';
import { cutPage, pageSlices } from './page.ts';
import type { ResponsesContext } from './context.ts';
import { toChatRow } from './stored-body.ts';

interface ChatToStore {
  messages: readonly ChatMessage[];
  metadata: Record<string, string>;
  /** Size of the request. */
  bytes: number;
  /** Converts the answer to the client's form. */
  present: (answer: ChatResponse) => object;
}

/** Stored chat completions. Those of other orgs are `not_found`. */
export function createStoredChats(context: ResponsesContext) {
  const { clock, quota, memory, scans, ttlMs } = context;
  const store = context.store.chats;
  const required = <T>(chat: T | undefined): T => {
    if (chat === undefined) throw notFound('chat completion');
    return chat;
  };
  const ifOurs = <T>(id: string, find: () => Promise<T | undefined>) =>
    isId('chatcmpl_', id) ? find() : Promise.resolve(undefined);

  /** Chats of a page with their sizes, found slice by slice, so that other operations of the database run in between. */
  async function matching(orgId: string, query: ChatQuery, signal: AbortSignal): Promise<SizedChat[]> {
    if (!isFiltered(query)) return store.list(orgId, query, clock.now());
    const found: SizedChat[] = [];
    for (let after = query.after; ;) {
      const slice = { ...query, ...(after !== undefined && { after }), limit: query.limit - found.length };
      const part = await scans.within(orgId, 1, signal, () => store.search(orgId, slice, clock.now()));
      found.push(...part.found);
      if (part.next === null || found.length === query.limit) return found;
      after = part.next;
    }
  }

  return {
    /**
     * Reserves quota before an answer is generated. It is released when the answer is stored or has failed.
     * @throws ApiError `storage_quota_exceeded` (402)
     */
    async reserve(caller: Caller, { messages, metadata, bytes, present: presented }: ChatToStore) {
      const { orgId } = caller;
      const keyId = familyOf(caller);
      const leave = await quota.reserve(caller, bytes);

      async function keep(answer: ChatResponse) {
        const owner = { orgId, keyId, now: clock.now(), ttlMs };
        const row = toChatRow(owner, { messages, metadata }, answer, presented(answer));
        quota.note(await store.insert(row));
      }

      return {
        async answered(ask: () => Promise<ChatResponse>) {
          try {
            const answer = await ask();
            await keep(answer);
            return answer;
          } finally {
            leave();
          }
        },

        /** Passes chunks on, and stores the answer before the stream ends. */
        async *streamed(lists: ChatChunks) {
          const folding = new ChunkFolder();
          try {
            for await (const chunks of lists) {
              folding.add(chunks);
              yield chunks;
            }
            await keep(folding.whole());
          } finally {
            leave();
          }
        },
      };
    },

    /**
     * Reserves quota for a chat that the batch engine stores; the returned function releases it.
     * @throws ApiError `storage_quota_exceeded` (402)
     */
    async reserveBytes(caller: Caller, bytes: number) {
      const leave = await quota.reserve(caller, bytes);
      return () => {
        leave();
        quota.forget(caller);
      };
    },

    get: async ({ orgId }: Caller, id: string) =>
      present(required(await ifOurs(id, () => store.get(orgId, id, clock.now())))),

    async messages({ orgId }: Caller, id: string, signal: AbortSignal) {
      const bytes = required(await ifOurs(id, () => store.messagesBytes(orgId, id, clock.now())));
      return memory.within(orgId, bytes, signal, async () => {
        const text = required(await store.messages(orgId, id, clock.now()));
        return JSON.parse(text) as ChatMessage[];
      });
    },

    async *list({ orgId }: Caller, query: ChatQuery, signal: AbortSignal): PageSlices<{ id: string }> {
      const listed = await matching(orgId, { ...query, limit: query.limit + 1 }, signal);
      const { count, hasMore } = cutPage(listed, query.limit);
      for (const { entries, bytes } of pageSlices(listed.slice(0, count))) {
        const ids = entries.map(({ id }) => id);
        yield await memory.within(orgId, bytes, signal, async () =>
          (await store.read(orgId, ids, clock.now())).map(present),
        );
      }
      return hasMore;
    },

    update: async ({ orgId }: Caller, id: string, metadata: Record<string, string>) =>
      present(
        required(await ifOurs(id, () => store.update(orgId, id, JSON.stringify(metadata), clock.now()))),
      ),

    async remove({ orgId }: Caller, id: string) {
      if (!isId('chatcmpl_', id) || !(await store.remove(orgId, id, clock.now())))
        throw notFound('chat completion');
    },
  };
}

export type StoredChats = ReturnType<typeof createStoredChats>;

function present({ body, metadata }: ChatWithoutMessages): { id: string } {
  const answer = JSON.parse(body) as { id: string };
  return Object.assign(answer, { metadata: JSON.parse(metadata) as object });
}
