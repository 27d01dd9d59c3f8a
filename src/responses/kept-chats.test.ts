import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import type { ChatStore } from '../store/contract/chats.ts';
import type { ChatChunks, ChatResponse } from '../wire/chat/chat.ts';
import { createKeptChats } from './kept-chats.ts';
import type { Quota } from './quota.ts';

const caller = { orgId: 'org_1' } as Parameters<ReturnType<typeof createKeptChats>['reserve']>[0];
const answer = { id: 'chatcmpl_1', model: 'm' } as ChatResponse;

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
  const chats = createKeptChats(store as ChatStore, {
    clock: createManualClock(),
    quota: quota as Quota,
    ttlMs: 1,
  });
  const present = ({ id }: ChatResponse) => ({ id, presented: true });
  const place = await chats.reserve(caller, { messages: [], metadata: {}, bytes: 1, present });
  return { place, events };
}

async function* broken(): ChatChunks {
  yield [];
  throw new Error('broken off');
}

async function read(lists: ChatChunks) {
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
    await expect(read(place.streamed(broken()))).rejects.toThrow('broken off');
    // A client that goes in the middle.
    for await (const _ of place.streamed(broken())) break;
    expect(events).toEqual(['left', 'left', 'left']);
  });
});
