import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { wholePage } from '../base/page-slices.ts';
import { createFairGate, type FairGate } from '../base/fair-gate.ts';
import type { ChatWithoutMessages, ChatStore } from '../store/contract/chats.ts';
import type { ChatChunks, ChatResponse } from '../wire/chat/chat.ts';
import { createStoredChats } from './stored-chats.ts';
import type { ResponsesContext } from './context.ts';
import { pageBytes } from './page.ts';
import type { Quota } from './quota.ts';

const caller = { orgId: 'org_1' } as Parameters<ReturnType<typeof createStoredChats>['reserve']>[0];
const answer = { id: 'chatcmpl_1', model: 'm' } as ChatResponse;

const roomFor = (room: number) =>
  createFairGate({ capacity: room, maxPerOwner: room, maxWaiting: 0, fullError: () => new Error('full') });

const chatsOf = (chats: Partial<ChatStore>, quota: Partial<Quota>, memory: FairGate) =>
  createStoredChats({
    store: { chats },
    clock: createManualClock(),
    quota,
    memory,
    scans: createFairGate({ capacity: 2, maxPerOwner: 1 }),
    ttlMs: 1,
  } as unknown as ResponsesContext);

/** One reserved place, and what happened to it in order. */
async function reserved() {
  const events: string[] = [];
  const store: Partial<ChatStore> = {
    insert: async ({ body }) => {
      events.push(body);
      return [];
    },
  };
  const quota: Partial<Quota> = { reserve: async () => () => void events.push('left'), note: () => {} };
  const chats = chatsOf(store, quota, roomFor(1));
  const present = ({ id }: ChatResponse) => ({ id, presented: true });
  const place = await chats.reserve(caller, { messages: [], metadata: {}, bytes: 1, present });
  return { place, events };
}

async function* broken(): ChatChunks {
  yield [];
  throw new Error('broken off');
}

async function readAll(lists: ChatChunks) {
  for await (const _ of lists);
}

describe('a place for a chat completion', () => {
  it('is given back once the answer is kept as its client gets it', async () => {
    const { place, events } = await reserved();
    expect(await place.answered(async () => answer)).toBe(answer);
    expect(events).toEqual(['{"id":"chatcmpl_1","presented":true}', 'left']);
  });

  it('is given back where there is no answer, or none to the end', async () => {
    const { place, events } = await reserved();
    await expect(place.answered(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
    await expect(readAll(place.streamed(broken()))).rejects.toThrow('broken off');
    // A client that goes in the middle.
    for await (const _ of place.streamed(broken())) break;
    expect(events).toEqual(['left', 'left', 'left']);
  });
});

describe('a list of chat completions', () => {
  const ids = ['chatcmpl_1', 'chatcmpl_2', 'chatcmpl_3'];
  const store: Partial<ChatStore> = {
    list: async (_org, { limit }) => ids.slice(0, limit).map((id) => ({ id, bytes: pageBytes / 2 })),
    read: async (_org, read) =>
      read.map((id) => ({ body: JSON.stringify({ id }), metadata: '{}' }) as ChatWithoutMessages),
    messagesBytes: async () => pageBytes,
    messages: async () => '[]',
  };
  const query = { order: 'asc', metadata: {} } as const;
  const { signal } = new AbortController();
  const memory = roomFor(pageBytes);
  const chats = chatsOf(store, {}, memory);
  const list = async (limit: number) => {
    const { items, hasMore } = await wholePage(chats.list(caller, { ...query, limit }, signal));
    return [items.map(({ id }) => id), hasMore];
  };

  it('ends with as many as were asked for, or where its bytes are full', async () => {
    expect(await list(1)).toEqual([ids.slice(0, 1), true]);
    expect(await list(2)).toEqual([ids.slice(0, 2), true]);
    expect(await list(9)).toEqual([ids.slice(0, 2), true]);
  });

  it('is searched slice by slice, one at a time for an org, and no further once its client has gone (attack 4)', async () => {
    const waiting: ((next: string | null) => void)[] = [];
    const asked: (string | undefined)[] = [];
    const search: ChatStore['search'] = async (_org, { after }) => {
      asked.push(after);
      const next = await new Promise<string | null>((resolve) => waiting.push(resolve));
      return { found: next === null ? [] : [{ id: next, bytes: 1 }], next };
    };
    const searched = chatsOf({ ...store, search }, {}, memory);
    const gone = new AbortController();
    const find = (signalled = signal) =>
      wholePage(searched.list(caller, { ...query, metadata: { a: 'b' }, limit: 9 }, signalled));
    const [one, two] = [find(), find(gone.signal)];
    const refused = expect(two).rejects.toThrow('gone');
    const answerNext = async (next: string | null) => {
      await expect.poll(() => waiting.length).toBe(1);
      waiting.shift()!(next);
    };
    // In turns: the first slice of each, then the next of each.
    for (const next of ['chatcmpl_1', 'chatcmpl_2', 'chatcmpl_3']) await answerNext(next);
    await expect.poll(() => asked).toEqual([undefined, undefined, 'chatcmpl_1', 'chatcmpl_2']);
    gone.abort(new Error('gone'));
    await answerNext('chatcmpl_4');
    await refused;
    await answerNext(null);
    expect((await one).items.map(({ id }) => id)).toEqual(['chatcmpl_1', 'chatcmpl_3']);
    expect(asked).toHaveLength(5);
  });

  it('is presented in slices of few bytes (attack 7)', async () => {
    const sizes = [100_000, 100_000, 100_000, 300_000, 5];
    const many = sizes.map((bytes, at) => ({ id: `chatcmpl_${at}`, bytes }));
    const sliced = chatsOf({ ...store, list: async () => many }, {}, memory);
    const slices: number[] = [];
    for await (const part of sliced.list(caller, { ...query, limit: 9 }, signal)) slices.push(part.length);
    expect(slices).toEqual([2, 1, 1, 1]);
  });

  it('is read once there is room for its bytes, and so are messages', async () => {
    const leave = await memory.enter(caller.orgId, pageBytes);
    await expect(list(9)).rejects.toThrow('full');
    const messages = () => chats.messages(caller, `chatcmpl_${'0'.repeat(32)}`, signal);
    await expect(messages()).rejects.toThrow('full');
    leave();
    expect(await list(9)).toEqual([ids.slice(0, 2), true]);
    expect(await messages()).toEqual([]);
  });
});
