import { describe, expect, it } from 'vitest';
import type { ChatDelta } from '../chat/chat.ts';
import { readFreeText } from '../chat/free-text.ts';
import { ResponseStream } from './stream/from-chat-chunks.ts';
import { fromChatResponse } from './answer/prepare-response.ts';
import { replayEvents } from './stream/replay.ts';
import { nativeRequest } from './request/native-request.ts';
import { checkResponsesRequest, requireConversation } from './request/request.ts';
import { newResponse } from './answer/response-body.ts';
import type { InputItem, ResponsesRequest } from './responses.ts';
import { pathOfItem, storedItems } from './stored-items.ts';
import { toChatRequest } from './request/to-chat-request.ts';

const id = `resp_${'ab'.repeat(16)}`;
const patch = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
};
const search = { type: 'function', name: 'search', parameters: { type: 'object' }, strict: false };
const docs = { type: 'namespace', name: 'mcp__docs', description: 'About docs.', tools: [search] };
const exec = { type: 'custom', name: 'exec', description: 'Runs.' };
/** As Codex brings its tools for models whose names it knows. */
const added = {
  type: 'additional_tools',
  role: 'developer',
  tools: [{ type: 'namespace', name: 'functions', description: '', tools: [exec] }, docs],
};
const user = { role: 'user', content: 'go' };

const ready = (input: InputItem[], more: Partial<ResponsesRequest> = {}) => {
  const request: ResponsesRequest = { model: 'm', input, ...more };
  expect(checkResponsesRequest(request)).toEqual([]);
  const items = storedItems(input, id).map((item, at) => ({ item, path: pathOfItem(input, at) }));
  const begun = newResponse(request, { id, createdAt: 1, model: 'm', status: 'in_progress' });
  return { begun, items, ...toChatRequest(request, items) };
};
const namesOf = ({ chat }: ReturnType<typeof ready>) => chat.tools?.map((tool) => tool.function.name);
const call = (name: string, json: string) => ({
  id: 'call_1',
  type: 'function' as const,
  function: { name, arguments: json },
});

describe('the model sees', () => {
  it('tools that an input item adds, in namespaces and with free text, under unique names', () => {
    const made = ready([added, user]);
    expect(namesOf(made)).toEqual(['exec', 'mcp__docs__search']);
    expect(made.chat.messages).toEqual([{ role: 'user', content: 'go' }]);
    const [first, second] = made.chat.tools!.map((tool) => tool.function);
    expect(first).toMatchObject({ description: 'Runs.', parameters: { required: ['input'] } });
    expect(second).toMatchObject({ description: 'About docs.', strict: false });
    expect(made.paths().get(second!)).toBe('input[0].tools[1].tools[0]');
  });

  it('a grammar in the description', () => {
    const [tool] = ready([user], { tools: [patch] }).chat.tools!;
    expect(tool!.function.description).toBe(
      'Edits files.\n\nThe input follows this lark grammar:\nstart: "x"',
    );
  });

  it('unique names that servers accept', () => {
    const long = { ...docs, name: `a.${'b'.repeat(80)}`, tools: [search, { ...search, name: 'find' }] };
    const names = namesOf(ready([user], { tools: [{ ...search, name: 'mcp__docs__search' }, docs, long] }))!;
    expect(new Set(names).size).toBe(4);
    expect(names[0]).toBe('mcp__docs__search');
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it('the latest of tools that are defined twice', () => {
    const later = { ...added, tools: [{ ...exec, description: 'Runs better.' }] };
    const made = ready([{ ...added, tools: [exec] }, user, later]);
    expect(made.chat.tools).toMatchObject([{ function: { name: 'exec', description: 'Runs better.' } }]);
  });

  it('a forced tool of any kind', () => {
    const forced = { type: 'custom', name: 'apply_patch' };
    const made = ready([user], { tools: [patch, docs], tool_choice: forced });
    expect(made.chat.tool_choice).toEqual({ type: 'function', function: { name: 'apply_patch' } });
    expect(made.begun.tool_choice).toEqual(forced);
    const named = { type: 'function', name: 'search', namespace: 'mcp__docs' };
    const other = ready([user], { tools: [patch, docs], tool_choice: named });
    expect(other.chat.tool_choice).toEqual({ type: 'function', function: { name: 'mcp__docs__search' } });
    expect(other.begun.tool_choice).toEqual(named);
    expect(other.begun.tools).toEqual([patch, docs]);
    const allowed = {
      type: 'allowed_tools',
      mode: 'required' as const,
      tools: [{ type: 'namespace', name: 'mcp__docs' }],
    };
    expect(namesOf(ready([user], { tools: [patch, docs], tool_choice: allowed }))).toEqual([
      'mcp__docs__search',
    ]);
  });
});

describe('a request is rejected', () => {
  it.each([
    [{ tools: [{ type: 'custom' }] }, 'tools[0].name'],
    [{ tools: [{ type: 'namespace', name: 'n' }] }, 'tools[0].tools'],
    [{ tools: [patch, patch] }, 'tools[1].name'],
    [{ tools: [docs], tool_choice: { type: 'custom', name: 'nothing' } }, 'tool_choice.name'],
    [{ input: [{ ...added, tools: [{ type: 'function' }] }, user] }, 'input[0].tools[0].name'],
    [{ input: [{ type: 'custom_tool_call', call_id: 'c', name: 'x' }] }, 'input[0].input'],
  ])('%j', (more, param) => {
    const faults = checkResponsesRequest({ model: 'm', input: [user], ...more });
    expect(faults.map((each) => each.param)).toContain(param);
  });
});

describe('a call of the model', () => {
  const { begun, clientNames } = ready([added, user]);
  const expected = [
    { type: 'custom_tool_call', call_id: 'call_1', name: 'exec', namespace: 'functions', input: 'ls "a"\n' },
    {
      type: 'function_call',
      call_id: 'call_1',
      name: 'search',
      namespace: 'mcp__docs',
      arguments: '{"q":1}',
    },
    { type: 'function_call', call_id: 'call_1', name: 'unheard', arguments: '{}' },
  ];
  const calls = [
    call('exec', JSON.stringify({ input: 'ls "a"\n' })),
    call('mcp__docs__search', '{"q":1}'),
    call('unheard', '{}'),
  ];

  it("is returned under the client's name", () => {
    const message = { role: 'assistant' as const, content: null, refusal: null, tool_calls: calls };
    const usage = {
      prompt_tokens: 1,
      completion_tokens: 1,
      total_tokens: 2,
      prompt_tokens_details: { cached_tokens: 0 },
    };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: 'tool_calls' as const }];
    const response = { id: 'c', object: 'chat.completion' as const, created: 1, model: 'm', choices, usage };
    expect(
      fromChatResponse(begun, response, { at: 2, newCallId: () => '', clientNames }).output,
    ).toMatchObject(expected);
  });

  it('has its own events, and the same in a replay', () => {
    const stream = new ResponseStream(begun, () => '', clientNames);
    const chunk = (delta: ChatDelta, finish: 'tool_calls' | null = null) => ({
      id: 'c',
      object: 'chat.completion.chunk' as const,
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
    const pieces = calls.flatMap(({ function: called, ...head }, index) => [
      chunk({ tool_calls: [{ index, ...head, function: { name: called.name, arguments: '' } }] }),
      ...Array.from(called.arguments.matchAll(/.{1,4}/gs), ([piece]) =>
        chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
      ),
    ]);
    const told = stream.read([...pieces, chunk({}, 'tool_calls')]);
    const { body, events: last } = stream.end(2);
    const events = [...told, ...last];
    expect(body.output).toMatchObject(expected);
    const custom = events.filter((event) => event['output_index'] === 0);
    expect(custom.map(({ type }) => type)).toEqual([
      'response.output_item.added',
      'response.custom_tool_call_input.delta',
      'response.custom_tool_call_input.done',
      'response.output_item.done',
    ]);
    expect(custom[0]).toMatchObject({ item: { type: 'custom_tool_call', name: 'exec', input: '' } });
    expect(custom[1]).toMatchObject({ item_id: body.output[0]!.id, delta: 'ls "a"\n' });
    expect([...replayEvents(body, stream.pieces)].flat()).toEqual(events);
  });

  it('is shown to the model as it made the call', () => {
    const history = [
      added,
      user,
      { type: 'custom_tool_call', call_id: 'a', name: 'exec', namespace: 'functions', input: 'ls' },
      { type: 'function_call', call_id: 'b', name: 'search', namespace: 'mcp__docs', arguments: '{}' },
      { type: 'custom_tool_call_output', call_id: 'a', output: 'files' },
      { type: 'function_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'found' }] },
      // Its tool is gone, and it is still what happened.
      { type: 'function_call', call_id: 'c', name: 'old', namespace: 'gone', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: '' },
    ];
    const { messages } = ready(history).chat;
    expect(messages.slice(1)).toMatchObject([
      {
        role: 'assistant',
        tool_calls: [
          { id: 'a', function: { name: 'exec', arguments: '{"input":"ls"}' } },
          { id: 'b', function: { name: 'mcp__docs__search', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'files' },
      { role: 'tool', tool_call_id: 'b', content: 'found' },
      { tool_calls: [{ id: 'c', function: { name: 'gone__old' } }] },
      { role: 'tool', tool_call_id: 'c', content: '' },
    ]);
  });
});

describe('tools that the API defines and the client runs', () => {
  const patched = { type: 'update_file', path: 'a', diff: '+b' };
  const tools = [
    { type: 'local_shell' },
    { type: 'shell', environment: { type: 'local' } },
    { type: 'apply_patch' },
    { type: 'shell', environment: { type: 'container_auto' } },
    { type: 'web_search' },
  ];
  const made = ready([user], { tools: tools.slice(0, 3), tool_choice: { type: 'shell' } });
  const items = [
    { type: 'local_shell_call', action: { type: 'exec', command: ['ls', '-l'], env: {}, timeout_ms: 5 } },
    { type: 'shell_call', action: { commands: ['ls'], timeout_ms: null, max_output_length: 9 } },
    { type: 'apply_patch_call', operation: patched },
  ];
  const calls = [
    call('local_shell', '{"command":["ls","-l"],"timeout_ms":5}'),
    call('shell', '{"commands":["ls"],"max_output_length":9}'),
    call('apply_patch', JSON.stringify(patched)),
  ];

  it('are functions for the model, without server tools', () => {
    expect(namesOf(ready([user], { tools }))).toEqual(['local_shell', 'shell', 'apply_patch']);
    expect(made.chat.tool_choice).toEqual({ type: 'function', function: { name: 'shell' } });
    expect(made.begun.tool_choice).toMatchObject({ type: 'shell' });
    expect(made.begun.tools).toEqual(tools.slice(0, 3));
    const asked = { model: 'm', input: 'go', tools };
    const sent = nativeRequest({ value: asked, text: JSON.stringify(asked) }, null, false);
    expect((JSON.parse(sent.text) as ResponsesRequest).tools).toEqual(tools.slice(0, 3));
    const faults = (more: object) =>
      checkResponsesRequest({ model: 'm', input: [user], ...more }).map(({ param }) => param);
    expect(faults({ tools: [{ type: 'shell' }, { type: 'shell' }] })).toEqual(['tools[1].name']);
    expect(faults({ tools: tools.slice(3), tool_choice: { type: 'shell' } })).toEqual(['tool_choice.name']);
  });

  it('are called by items of their types, also in a stream and its replay', () => {
    const stream = new ResponseStream(made.begun, () => '', made.clientNames);
    const chunk = (delta: ChatDelta, finish: 'tool_calls' | null = null) => ({
      id: 'c',
      object: 'chat.completion.chunk' as const,
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
    const pieces = calls.flatMap(({ function: { name, arguments: json }, ...head }, index) => [
      chunk({ tool_calls: [{ index, ...head, function: { name, arguments: json.slice(0, 5) } }] }),
      chunk({ tool_calls: [{ index, function: { arguments: json.slice(5) } }] }),
    ]);
    const told = stream.read([...pieces, chunk({}, 'tool_calls')]);
    const { body, events: last } = stream.end(2);
    const events = [...told, ...last];
    expect(body.output).toMatchObject(
      items.map((item) => ({ ...item, call_id: 'call_1', status: 'completed' })),
    );
    expect(events.filter((event) => event['output_index'] === 0)).toMatchObject([
      { type: 'response.output_item.added', item: { action: { type: 'exec', command: [] } } },
      { type: 'response.output_item.done', item: items[0] },
    ]);
    expect([...replayEvents(body, stream.pieces)].flat()).toEqual(events);
  });

  it('give well-formed items for any arguments', () => {
    const outputOf = (name: string, json: string) => {
      const stream = new ResponseStream(made.begun, () => '', made.clientNames);
      const delta = { tool_calls: [{ index: 0, ...call(name, json) }] };
      stream.read([
        {
          id: 'c',
          object: 'chat.completion.chunk',
          created: 1,
          model: 'm',
          choices: [{ index: 0, delta, finish_reason: 'length' }],
        },
      ]);
      return stream.end(2).body.output[0];
    };
    expect(outputOf('shell', '{"commands":["l')).toMatchObject({
      status: 'incomplete',
      action: { commands: [], timeout_ms: null, max_output_length: null },
    });
    expect(outputOf('local_shell', '{"command":"ls"}')).toMatchObject({
      action: { type: 'exec', command: ['ls'], env: {} },
    });
    expect(outputOf('apply_patch', '[]')).toMatchObject({ operation: { type: 'update_file', path: '' } });
  });

  it('are shown to the model as it called them, with their results', () => {
    const shown = { stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } };
    const history = [
      user,
      ...items.map((item, index) => ({ ...item, call_id: `call_${index}`, status: 'completed' })),
      { type: 'local_shell_call_output', id: 'call_0', output: 'files' },
      { type: 'shell_call_output', call_id: 'call_1', output: [shown] },
      { type: 'apply_patch_call_output', call_id: 'call_2', status: 'failed', output: 'no such file' },
    ];
    const found = ready(history as InputItem[]);
    expect(() => requireConversation(found.items)).not.toThrow();
    const [, turn, ...results] = found.chat.messages;
    expect(turn!.tool_calls!.map(({ function: each }) => [each.name, JSON.parse(each.arguments)])).toEqual([
      ['local_shell', { command: ['ls', '-l'], env: {}, timeout_ms: 5 }],
      ['shell', { commands: ['ls'], timeout_ms: null, max_output_length: 9 }],
      ['apply_patch', patched],
    ]);
    expect(results).toEqual([
      { role: 'tool', tool_call_id: 'call_0', content: 'files' },
      { role: 'tool', tool_call_id: 'call_1', content: JSON.stringify([shown]) },
      { role: 'tool', tool_call_id: 'call_2', content: 'failed: no such file' },
    ]);
    const lost = ready([user, { type: 'shell_call_output', call_id: 'x', output: [] }] as InputItem[]);
    expect(() => requireConversation(lost.items)).toThrow('x');
  });
});

it.each([
  ['{"input":"a\\nb"}', 'a\nb'],
  ['"a"', 'a'],
  ['{"input":"cut \\u00e4 here', 'cut ä here'],
  ['{"input":"cut in an escape\\', 'cut in an escape'],
  ['{"input":"cut in an escape\\u00', 'cut in an escape'],
  ['{"patch":"x"}', '{"patch":"x"}'],
  ['ls -l', 'ls -l'],
  ['', ''],
])('the text in %j', (json, text) => expect(readFreeText(json)).toBe(text));
