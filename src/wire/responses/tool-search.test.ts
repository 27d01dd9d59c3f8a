import { describe, expect, it } from 'vitest';
import type { ChatChunk, ChatDelta } from '../chat/chat.ts';
import { newResponse } from './answer/response-body.ts';
import { nativeRequest } from './request/native-request.ts';
import { checkResponsesRequest, requireConversation, requireReadable } from './request/request.ts';
import { toChatRequest } from './request/to-chat-request.ts';
import type { InputItem, ResponsesRequest } from './responses.ts';
import { pathOfItem, storedItems } from './stored-items.ts';
import { ResponseStream } from './stream/from-chat-chunks.ts';
import { replayEvents } from './stream/replay.ts';

// A search for tools that the client runs, as Codex has one.

const id = `resp_${'ab'.repeat(16)}`;
const parameters = { type: 'object', properties: { query: { type: 'string' } } };
const search = { type: 'tool_search', execution: 'client', description: 'find tools', parameters };
const js = { type: 'function', name: 'js', description: 'Runs.', parameters: {}, defer_loading: true };
const found = [
  { type: 'namespace', name: 'mcp__repl', tools: [js] },
  { type: 'custom', name: 'note' },
];
const user = { role: 'user', content: 'x' };
const searched = {
  type: 'tool_search_call',
  call_id: 's1',
  execution: 'client',
  arguments: { query: 'js' },
};
const output = { type: 'tool_search_output', call_id: 's1', execution: 'client', tools: found };

const ready = (input: object[], more: object = {}) => {
  const request = { model: 'm', tools: [search], ...more, input: input as InputItem[] } as ResponsesRequest;
  expect(checkResponsesRequest(request)).toEqual([]);
  const items = storedItems(request.input, id).map((item, at) => ({
    item,
    path: pathOfItem(request.input, at),
  }));
  requireConversation(items);
  requireReadable(items);
  const begun = newResponse(request, { id, createdAt: 1, model: 'm', status: 'in_progress' });
  return { begun, items, ...toChatRequest(request, items) };
};
const namesOf = ({ chat }: ReturnType<typeof ready>) => chat.tools?.map((tool) => tool.function.name);

describe('a search for tools', () => {
  it('is a function as its client describes it', () => {
    const { chat, begun } = ready([user]);
    expect(chat.tools).toEqual([
      { type: 'function', function: { name: 'tool_search', description: 'find tools', parameters } },
    ]);
    expect(begun.tools).toEqual([search]);
    const bare = ready([user], { tools: [{ type: 'tool_search', execution: 'client' }] });
    expect(bare.chat.tools).toMatchObject([{ function: { parameters: { required: ['query'] } } }]);
  });

  it('is in the conversation with the found tools, which are callable from then on', () => {
    const made = ready([user, searched, output, { role: 'user', content: 'use js' }]);
    expect(namesOf(made)).toEqual(['tool_search', 'mcp__repl__js', 'note']);
    expect(made.chat.messages).toEqual([
      user,
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 's1', type: 'function', function: { name: 'tool_search', arguments: '{"query":"js"}' } },
        ],
      },
      {
        role: 'tool',
        tool_call_id: 's1',
        content: 'Found, and callable from now on: mcp__repl__js, note',
      },
      { role: 'user', content: 'use js' },
    ]);
    const none = ready([user, searched, { ...output, tools: [] }]);
    expect(none.chat.messages.at(-1)!.content).toBe('No tools were found.');
  });

  it('is returned as a tool_search_call, and a call of a found tool under its own name', () => {
    const { begun, clientNames } = ready([user, searched, output]);
    const stream = new ResponseStream(begun, () => '', clientNames);
    const chunk = (delta: ChatDelta, finish: 'tool_calls' | null = null): ChatChunk => ({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
    const piece = (index: number, name: string | undefined, json: string) =>
      chunk({
        tool_calls: [{ index, ...(name && { id: `c${index}` }), function: { name, arguments: json } }],
      });
    const told = stream.read([
      piece(0, 'tool_search', '{"que'),
      piece(0, undefined, 'ry":"clock"}'),
      piece(1, 'mcp__repl__js', '{}'),
      chunk({}, 'tool_calls'),
    ]);
    const { body, events: last } = stream.end(2);
    const call = { type: 'tool_search_call', call_id: 'c0', execution: 'client' };
    expect(body.output).toMatchObject([
      { ...call, status: 'completed', arguments: { query: 'clock' } },
      { type: 'function_call', call_id: 'c1', name: 'js', namespace: 'mcp__repl', arguments: '{}' },
    ]);
    const events = [...told, ...last];
    expect(events.filter((event) => event['output_index'] === 0)).toMatchObject([
      { type: 'response.output_item.added', item: { ...call, status: 'in_progress', arguments: {} } },
      { type: 'response.output_item.done', item: body.output[0]! },
    ]);
    expect([...replayEvents(body, stream.pieces)].flat()).toEqual(events);
    // The returned items are accepted again.
    const next = ready([user, ...body.output.slice(0, 1), { ...output, call_id: 'c0' }]);
    expect(next.chat.messages[1]!.tool_calls![0]!.function.arguments).toBe('{"query":"clock"}');
  });

  it('that a server runs is ignored, but not its found tools', () => {
    const there = { type: 'tool_search_output', execution: 'server', call_id: null, tools: found };
    const call = { ...searched, call_id: null, execution: 'server' };
    const made = ready([user, call, there], { tools: [{ type: 'tool_search' }] });
    expect(namesOf(made)).toEqual(['mcp__repl__js', 'note']);
    expect(made.chat.messages).toEqual([user]);
  });

  it('needs its call, and is forwarded unchanged to a server that supports responses', () => {
    expect(() => ready([user, output])).toThrow('"s1"');
    const input = [user, searched, output] as InputItem[];
    const asked: ResponsesRequest = { model: 'm', input, tools: [search] };
    const sent = nativeRequest({ value: asked, text: JSON.stringify(asked) }, null, false);
    expect(JSON.parse(sent.text)).toMatchObject({ input, tools: [search] });
  });
});
