import type { Responses } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';
import type { ErrorBody } from '../support/api.ts';
import { serveTranslated } from './support/serve-translated.ts';

// Translation of every item type that the official client knows: each is passed on, dropped as documented, or
// rejected.

const servers = serveTranslated();

type ItemType = NonNullable<Responses.ResponseInputItem['type']>;

/** Items that contain `word`. */
const word = 'xyzzy';
const call = { id: 'fc_1', call_id: 'c1', status: 'completed' } as const;
const image = `data:image/png;base64,${word}A=`;
const shell = { call_id: 'c1', action: { commands: [word] } };
const functionCall = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };

/** Items whose word must reach the model. */
const passedOn: Partial<Record<ItemType | 'agent_message', object[]>> = {
  message: [{ type: 'message', role: 'developer', content: word }],
  agent_message: [
    {
      type: 'agent_message',
      author: '/root',
      recipient: '/root/child',
      content: [{ type: 'encrypted_content', encrypted_content: word }],
    },
  ],
  reasoning: [{ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: word }] }],
  function_call: [{ ...functionCall, arguments: `{"a":"${word}"}` }],
  function_call_output: [functionCall, { type: 'function_call_output', call_id: 'c1', output: word }],
  custom_tool_call: [{ type: 'custom_tool_call', call_id: 'c1', name: 'f', input: word }],
  custom_tool_call_output: [
    { type: 'custom_tool_call', call_id: 'c1', name: 'f', input: '' },
    { type: 'custom_tool_call_output', call_id: 'c1', output: word },
  ],
  local_shell_call: [{ ...call, type: 'local_shell_call', action: { type: 'exec', command: [word] } }],
  local_shell_call_output: [
    { ...call, type: 'local_shell_call', action: { type: 'exec', command: [] } },
    { type: 'local_shell_call_output', id: 'c1', output: word },
  ],
  shell_call: [{ type: 'shell_call', ...shell }],
  shell_call_output: [
    { type: 'shell_call', ...shell, action: { commands: [] } },
    { type: 'shell_call_output', call_id: 'c1', output: [{ stdout: word }] },
  ],
  apply_patch_call: [{ ...call, type: 'apply_patch_call', operation: { type: 'delete_file', path: word } }],
  apply_patch_call_output: [
    { ...call, type: 'apply_patch_call', operation: { type: 'delete_file', path: 'a' } },
    { type: 'apply_patch_call_output', call_id: 'c1', status: 'failed', output: word },
  ],
  additional_tools: [
    {
      type: 'additional_tools',
      role: 'developer',
      tools: [{ type: 'function', name: word, parameters: {} }],
    },
  ],
  tool_search_call: [
    { type: 'tool_search_call', call_id: 'c1', execution: 'client', arguments: { query: word } },
  ],
  tool_search_output: [
    { type: 'tool_search_output', execution: 'server', tools: [{ type: 'function', name: word }] },
  ],
  mcp_call: [{ type: 'mcp_call', id: 'mcp_1', server_label: 's', name: 't', arguments: '{}', output: word }],
  file_search_call: [
    { ...call, type: 'file_search_call', queries: ['q'], results: [{ filename: 'f', text: word }] },
  ],
  code_interpreter_call: [
    { ...call, type: 'code_interpreter_call', code: '1', outputs: [{ type: 'logs', logs: word }] },
  ],
  image_generation_call: [{ ...call, type: 'image_generation_call', result: `${word}A=` }],
  computer_call: [{ ...call, type: 'computer_call', action: { type: 'type', text: word } }],
  computer_call_output: [
    { ...call, type: 'computer_call', action: { type: 'screenshot' } },
    {
      type: 'computer_call_output',
      call_id: 'c1',
      output: { type: 'computer_screenshot', image_url: image },
    },
  ],
  program: [{ ...call, type: 'program', code: word, fingerprint: '' }],
  program_output: [
    { ...call, type: 'program', code: '', fingerprint: '' },
    { type: 'program_output', id: 'po_1', call_id: 'c1', result: word, status: 'completed' },
  ],
};

/** Items that docs/responses.md lists as dropped, with the reason. */
const leftOut: Partial<Record<ItemType, object[]>> = {
  web_search_call: [{ ...call, type: 'web_search_call', action: { type: 'search', query: word } }],
  mcp_list_tools: [{ type: 'mcp_list_tools', id: 'l', server_label: 's', tools: [{ name: word }] }],
  mcp_approval_request: [
    { type: 'mcp_approval_request', id: 'r', server_label: 's', name: word, arguments: '{}' },
  ],
  mcp_approval_response: [
    { type: 'mcp_approval_response', approval_request_id: 'r', approve: true, reason: word },
  ],
};

/** Rejected items with their locations. */
const refused: Partial<Record<ItemType | 'future_item', [item: object, param: string]>> = {
  compaction: [{ type: 'compaction', encrypted_content: word }, 'input[1].encrypted_content'],
  configuration_update: [{ type: 'configuration_update', reasoning: { effort: 'low' } }, 'input[1].type'],
  compaction_trigger: [{ type: 'compaction_trigger' }, 'input[1].type'],
  item_reference: [{ type: 'item_reference', id: `msg_${'0'.repeat(36)}` }, 'input[1].id'],
  future_item: [{ type: 'future_item', content: [{ type: 'input_text', text: word }] }, 'input[1].type'],
};

// Each type of the client is in one of the lists; a new one fails to compile.
const decided: Record<ItemType, 'passed on' | 'left out' | 'refused'> = {
  message: 'passed on',
  reasoning: 'passed on',
  function_call: 'passed on',
  function_call_output: 'passed on',
  custom_tool_call: 'passed on',
  custom_tool_call_output: 'passed on',
  local_shell_call: 'passed on',
  local_shell_call_output: 'passed on',
  shell_call: 'passed on',
  shell_call_output: 'passed on',
  apply_patch_call: 'passed on',
  apply_patch_call_output: 'passed on',
  additional_tools: 'passed on',
  tool_search_call: 'passed on',
  tool_search_output: 'passed on',
  mcp_call: 'passed on',
  file_search_call: 'passed on',
  code_interpreter_call: 'passed on',
  image_generation_call: 'passed on',
  computer_call: 'passed on',
  computer_call_output: 'passed on',
  program: 'passed on',
  program_output: 'passed on',
  web_search_call: 'left out',
  mcp_list_tools: 'left out',
  mcp_approval_request: 'left out',
  mcp_approval_response: 'left out',
  compaction: 'refused',
  configuration_update: 'refused',
  compaction_trigger: 'refused',
  item_reference: 'refused',
};

const user = { role: 'user', content: 'go' };
const answered = (items: object[]) =>
  servers.running.api.send('/v1/responses', {
    json: { model: 'tiny', store: false, input: [user, ...items] },
  });
const sent = () => servers.upstream.received.at(-1)!.text;

describe('an item of a translated request', () => {
  it('is in the list of its kind', () => {
    for (const [list, kind] of [
      [passedOn, 'passed on'],
      [leftOut, 'left out'],
      [refused, 'refused'],
    ] as const)
      for (const type of Object.keys(list).filter((each) => each in decided))
        expect([type, decided[type as ItemType]]).toEqual([type, kind]);
    const listed = [passedOn, leftOut, refused].flatMap((list) => Object.keys(list));
    expect(Object.keys(decided).filter((type) => !listed.includes(type))).toEqual([]);
  });

  it.each(Object.entries(passedOn))('%s reaches the model', async (_, items) => {
    const { status, text } = await answered(items);
    expect(status, text).toBe(200);
    expect(sent()).toContain(word);
  });

  it.each(Object.entries(leftOut))('%s is dropped as documented', async (_, items) => {
    const { status, text } = await answered(items);
    expect(status, text).toBe(200);
    expect(JSON.parse(sent())).toMatchObject({ messages: [user] });
  });

  it.each(Object.entries(refused))('%s is rejected with its location', async (type, [item, param]) => {
    const { status, text } = await answered([item]);
    const { error } = JSON.parse(text) as ErrorBody;
    expect([status, error.param], text).toEqual([type === 'item_reference' ? 404 : 422, param]);
  });

  it('of another agent becomes a user message without the ciphertext', async () => {
    const content = [
      { type: 'input_text', text: 'Message Type: NEW_TASK\nPayload:\n' },
      { type: 'encrypted_content', encrypted_content: 'Count the files.' },
    ];
    const from = { type: 'agent_message', author: '/root', recipient: '/root/child' };
    await answered([{ ...from, content }]);
    expect(JSON.parse(sent())).toMatchObject({
      messages: [user, { role: 'user', content: 'Message Type: NEW_TASK\nPayload:\nCount the files.' }],
    });
    const sealed = { type: 'encrypted_content', encrypted_content: 'gAAAAABpZ1' };
    await answered([{ ...from, content: [content[0], sealed] }]);
    expect(sent()).toContain('NEW_TASK');
    expect(sent()).not.toContain('gAAAAA');
    await answered([{ ...from, content: [sealed] }]);
    expect(JSON.parse(sent())).toMatchObject({ messages: [user] });
  });

  it('of a tool that ran elsewhere becomes a call with its result', async () => {
    const failed = {
      type: 'mcp_call',
      id: 'm1',
      server_label: 'docs',
      name: 'find',
      arguments: '{"q":1}',
      error: 'gone',
    };
    await answered([failed, { role: 'assistant', content: 'I could not.' }]);
    expect(JSON.parse(sent())).toMatchObject({
      messages: [
        user,
        {
          role: 'assistant',
          tool_calls: [{ id: 'm1', function: { name: 'docs__find', arguments: '{"q":1}' } }],
        },
        { role: 'tool', tool_call_id: 'm1', content: 'Error: gone' },
        { role: 'assistant', content: 'I could not.' },
      ],
    });
  });
});
