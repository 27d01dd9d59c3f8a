import { describe, expect, it } from 'vitest';
import type { ChatChunk } from '../../wire/chat/chat.ts';
import { readChatStream } from './chat-stream.ts';

const event = (content: string, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;

async function* packets(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}

/** The texts of each list that came. */
async function listsOf(...texts: string[]) {
  const lists: (string | null | undefined)[][] = [];
  const options = {
    asked: () => 0,
    newCallId: () => 'call_1',
    repairs: new Set<never>(),
    context: { now: 0, secrets: [], note() {} },
    finish() {},
  };
  const said = ({ choices }: ChatChunk) => choices[0]?.delta.content;
  let error: unknown = null;
  try {
    for await (const chunks of readChatStream(packets(...texts), options)) lists.push(chunks.map(said));
  } catch (thrown) {
    error = thrown;
  }
  return { lists, error };
}

describe('a chat stream', () => {
  it('is handed on in lists of what came together', async () => {
    const { lists, error } = await listsOf(event('a') + event('b'), event('c', 'stop'), 'data: [DONE]\n\n');
    expect(error).toBeNull();
    expect(lists).toEqual([['a', 'b'], ['c'], [undefined]]);
  });

  it('tells what came before a fault in the same packet', async () => {
    const { lists, error } = await listsOf(`${event('a')}${event('b')}data: no JSON\n\n`);
    expect(lists).toEqual([['a', 'b']]);
    expect(error).toMatchObject({ code: 'invalid_upstream_response' });
  });

  it('looks at nothing behind its end', async () => {
    const { lists, error } = await listsOf(`${event('a', 'stop')}data: [DONE]\n\ndata: no JSON\n\n`);
    expect(error).toBeNull();
    expect(lists).toEqual([['a'], [undefined]]);
  });
});
