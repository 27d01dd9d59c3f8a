import { describe, expect, it } from 'vitest';
import type { ChatChunk } from '../../../wire/chat/chat.ts';
import { usageReader } from './usage.ts';
import { readChatStream } from './chat-stream.ts';

const event = (content: string, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;

async function* packets(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}

const options = {
  estimatePrompt: () => 0,
  choices: 1,
  alternatives: 0,
  newCallId: () => 'call_1',
  repairs: new Set(),
  usageOf: usageReader(undefined),
  finishes: undefined,
  context: { now: 0, secrets: [], logMessage() {} },
  finish() {},
  expectEnd() {},
};

/** The calls that a client puts together. */
async function callsIn(...texts: string[]) {
  const calls: [string, string][] = [];
  for await (const chunks of readChatStream(packets(...texts), options))
    for (const { index, function: each } of chunks.flatMap(
      ({ choices }) => choices[0]?.delta.tool_calls ?? [],
    )) {
      const known = (calls[index] ??= ['', '']);
      known[0] += each?.name ?? '';
      known[1] += each?.arguments ?? '';
    }
  return calls;
}

/** The texts of each list that came. */
async function listsOf(...texts: string[]) {
  const lists: (string | null | undefined)[][] = [];
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
  it('is passed on in lists of chunks that arrived together', async () => {
    const { lists, error } = await listsOf(event('a') + event('b'), event('c', 'stop'), 'data: [DONE]\n\n');
    expect(error).toBeNull();
    expect(lists).toEqual([['a', 'b'], ['c'], [undefined]]);
  });

  it('yields chunks before a failure in the same packet', async () => {
    const { lists, error } = await listsOf(`${event('a')}${event('b')}data: no JSON\n\n`);
    expect(lists).toEqual([['a', 'b']]);
    expect(error).toMatchObject({ code: 'invalid_upstream_response' });
  });

  it('ignores everything after its end', async () => {
    const { lists, error } = await listsOf(`${event('a', 'stop')}data: [DONE]\n\ndata: no JSON\n\n`);
    expect(error).toBeNull();
    expect(lists).toEqual([['a'], [undefined]]);
  });

  const called = (...calls: object[]) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: calls }, finish_reason: null }] })}\n\n`;
  const piece = (name: string | undefined, json: string, id?: string) => ({
    index: 0,
    ...(id !== undefined && { id }),
    function: { ...(name !== undefined && { name }), arguments: json },
  });
  it.each([
    ['ids', [called(piece('f', '{"a":1}', 'c1')), called(piece('g', '{}', 'c2'))]],
    ['ids, in one delta', [called(piece('f', '{"a":1}', 'c1'), piece('g', '{}', 'c2'))]],
    ['names', [called(piece('f', '{"a"')), called(piece('f', ':1}')), called(piece('g', '{}'))]],
    ['names, in one delta', [called(piece('f', '{"a":1}'), piece('g', '{}'))]],
  ])('tells two calls at one index apart by their %s', async (_, events) => {
    expect(await callsIn(...events, event('', 'tool_calls'))).toEqual([
      ['f', '{"a":1}'],
      ['g', '{}'],
    ]);
  });

  it('separates two calls of one tool at one index once the first is complete', async () => {
    const events = [piece('f', '{"a":'), piece('f', '1}'), piece('f', '{"a":2}')].map((each) => called(each));
    expect(await callsIn(...events, event('', 'tool_calls'))).toEqual([
      ['f', '{"a":1}'],
      ['f', '{"a":2}'],
    ]);
  });
});
