import type { BetaContentBlockParam } from '@anthropic-ai/sdk/resources/beta/messages/messages';
import { describe, expect, it } from 'vitest';
import type { ErrorBody } from '../support/api.ts';
import { serveTranslated } from './support/serve-translated.ts';

// Translation of every content block that the official client knows: each is passed on, dropped as documented, or
// rejected.

const servers = serveTranslated();

type BlockType = BetaContentBlockParam['type'];
interface Turn {
  role: 'user' | 'assistant' | 'system';
  content: string | object[];
}

/** Blocks that contain `word`. */
const word = 'xyzzy';
const hi: Turn = { role: 'user', content: 'hi' };
const more: Turn = { role: 'user', content: 'and?' };
const asks = (...content: object[]): Turn[] => [hi, { role: 'user', content }];
const answers = (...content: object[]): Turn[] => [hi, { role: 'assistant', content }, more];
const call = { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} };
const ran = (type: string, content: unknown) => answers(call, { type, tool_use_id: 's1', content });
const definition = { name: word, input_schema: { type: 'object' } };
const document = { type: 'text', media_type: 'text/plain', data: word };

/**
 * Every block type of the client, so that a new one fails to compile. Null: dropped for a reason given in
 * docs/messages.md.
 */
const passedOn: Record<Exclude<BlockType, 'container_upload'>, Turn[] | null> = {
  text: asks({ type: 'text', text: word }),
  image: asks({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: `${word}A=` } }),
  document: asks({ type: 'document', source: document }),
  search_result: asks({
    type: 'search_result',
    source: 's',
    title: 't',
    content: [{ type: 'text', text: word }],
  }),
  thinking: [hi, { role: 'assistant', content: [{ type: 'thinking', thinking: word, signature: 's' }] }],
  redacted_thinking: null,
  tool_use: answers({ type: 'tool_use', id: 't1', name: 'f', input: { a: word } }),
  tool_result: [
    hi,
    { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: word }] },
  ],
  server_tool_use: answers(
    { ...call, name: 'code_execution', input: { code: word } },
    {
      type: 'code_execution_tool_result',
      tool_use_id: 's1',
      content: { type: 'code_execution_result', stdout: '1' },
    },
  ),
  web_search_tool_result: ran('web_search_tool_result', [
    { type: 'web_search_result', title: word, url: 'https://a.example', encrypted_content: 'sealed' },
  ]),
  web_fetch_tool_result: ran('web_fetch_tool_result', {
    type: 'web_fetch_result',
    url: 'https://a.example',
    content: { type: 'document', source: document },
  }),
  advisor_tool_result: ran('advisor_tool_result', { type: 'advisor_result', text: word }),
  code_execution_tool_result: ran('code_execution_tool_result', {
    type: 'code_execution_result',
    stdout: word,
    stderr: '',
    return_code: 0,
    content: [],
  }),
  bash_code_execution_tool_result: ran('bash_code_execution_tool_result', { stderr: word }),
  text_editor_code_execution_tool_result: ran('text_editor_code_execution_tool_result', {
    type: 'text_editor_code_execution_view_result',
    content: word,
  }),
  tool_search_tool_result: ran('tool_search_tool_result', {
    type: 'tool_search_tool_search_result',
    tool_references: [{ type: 'tool_reference', tool_name: word }],
  }),
  mcp_tool_use: answers(
    { type: 'mcp_tool_use', id: 's1', name: 'find', server_name: 'docs', input: { q: word } },
    { type: 'mcp_tool_result', tool_use_id: 's1', content: 'found' },
  ),
  mcp_tool_result: answers(
    { type: 'mcp_tool_use', id: 's1', name: 'find', server_name: 'docs', input: {} },
    { type: 'mcp_tool_result', tool_use_id: 's1', content: [{ type: 'text', text: word }] },
  ),
  compaction: answers({ type: 'compaction', content: word }),
  tool_addition: [
    hi,
    { role: 'system', content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition } }] },
  ],
  tool_removal: null,
  mcp_tool_listing: null,
  fallback: null,
};

const leftOut: Record<string, object> = {
  redacted_thinking: { type: 'redacted_thinking', data: word },
  mcp_tool_listing: { type: 'mcp_tool_listing', mcp_server_name: 's', tools: [{ name: word }] },
  fallback: { type: 'fallback', from: { model: word }, to: { model: 'm' } },
  'a call without a result': { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: word } },
};

const refused: [string, Turn[], string][] = [
  [
    'container_upload of the user',
    asks({ type: 'container_upload', file_id: word }),
    'messages[1].content[0].type',
  ],
  [
    'container_upload of the assistant',
    answers({ type: 'container_upload', file_id: word }),
    'messages[1].content[0].type',
  ],
  ['an unknown block', answers({ type: 'future', text: word }), 'messages[1].content[0].type'],
  [
    'a summary that only its maker can read',
    answers({ type: 'compaction', content: null, encrypted_content: word }),
    'messages[1].content[0].encrypted_content',
  ],
];

const send = (messages: Turn[], tools: object[] = []) =>
  servers.running.api.send('/v1/messages', { json: { model: 'tiny', max_tokens: 9, messages, tools } });
const sent = () => servers.upstream.received.at(-1)!.text;
const sentMessages = () => (JSON.parse(sent()) as { messages: object[] }).messages;
const sentTools = () =>
  (JSON.parse(sent()) as { tools?: { function: { name: string } }[] }).tools?.map(
    (tool) => tool.function.name,
  );

describe('a block of a translated request', () => {
  it.each(Object.entries(passedOn).filter(([, messages]) => messages))(
    '%s reaches the model',
    async (_, messages) => {
      const { status, text } = await send(messages!);
      expect(status, text).toBe(200);
      expect(sent()).toContain(word);
      expect(sent()).not.toContain('sealed');
    },
  );

  it.each(Object.entries(leftOut))('%s is dropped as documented', async (_, block) => {
    const { status, text } = await send(answers(block, { type: 'text', text: 'so' }));
    expect(status, text).toBe(200);
    expect(sentMessages()).toEqual([hi, { role: 'assistant', content: 'so' }, more]);
  });

  it.each(refused)('%s is rejected with its location', async (_, messages, param) => {
    const { status, text } = await send(messages);
    expect(status, text).toBe(422);
    expect((JSON.parse(text) as ErrorBody).error.param ?? text).toContain(param);
  });

  it('of a server-side tool becomes a call with its result, apart from calls of the client', async () => {
    const use = (id: string) => ({
      type: 'mcp_tool_use',
      id,
      name: 'find',
      server_name: 'my docs',
      input: { id },
    });
    const result = (id: string) => ({ type: 'mcp_tool_result', tool_use_id: id, content: `found ${id}` });
    const own = { type: 'tool_use', id: 'own', name: 'f', input: {} };
    const say = (text: string) => ({ type: 'text', text });
    const content = [say('I look.'), use('a'), own, use('b'), result('a'), result('b'), say('So.')];
    await send([
      hi,
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'own', content: 'ok' }] },
    ]);
    const called = (id: string, name = 'my_docs__find', input: object = { id }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(input) },
    });
    expect(sentMessages()).toEqual([
      hi,
      { role: 'assistant', content: 'I look.', tool_calls: [called('a'), called('b')] },
      { role: 'tool', tool_call_id: 'a', content: 'found a' },
      { role: 'tool', tool_call_id: 'b', content: 'found b' },
      { role: 'assistant', content: 'So.', tool_calls: [called('own', 'f', {})] },
      { role: 'tool', tool_call_id: 'own', content: 'ok' },
    ]);
  });

  it('with a summary replaces everything before it', async () => {
    const summary = { type: 'compaction', content: 'They said hi.' };
    await send([
      hi,
      { role: 'assistant', content: [{ type: 'text', text: 'old' }, summary, { type: 'text', text: 'new' }] },
      more,
    ]);
    const [first, ...others] = sentMessages();
    expect(first).toMatchObject({
      role: 'user',
      content: expect.stringContaining('They said hi.') as string,
    });
    expect(others).toEqual([{ role: 'assistant', content: 'new' }, more]);
  });

  it('that refers to a deferred tool names it and makes it callable', async () => {
    const stock = { name: 'mcp__depot__stock', input_schema: { type: 'object' }, defer_loading: true };
    await send(
      [
        hi,
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'ToolSearch', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 't1',
              content: [{ type: 'tool_reference', tool_name: 'mcp__depot__stock' }],
            },
          ],
        },
      ],
      [{ name: 'ToolSearch', input_schema: { type: 'object' } }, stock],
    );
    expect(sentMessages().at(-1)).toMatchObject({
      role: 'tool',
      content: 'Callable from now on: mcp__depot__stock',
    });
    expect(sentTools()).toEqual(['ToolSearch', 'mcp__depot__stock']);
  });

  it('that adds or removes a tool changes the callable tools from then on', async () => {
    const change = (type: string, tool: object): Turn => ({ role: 'system', content: [{ type, tool }] });
    const add = change('tool_addition', { type: 'tool_definition', definition });
    const named = (name: string) => ({ type: 'tool_reference', name });
    const tools = ['a', 'b'].map((name) => ({ name, input_schema: { type: 'object' } }));
    await send(
      [
        hi,
        add,
        change('tool_removal', named('a')),
        change('tool_removal', named('b')),
        change('tool_addition', named('b')),
      ],
      tools,
    );
    expect(sentTools()).toEqual(['b', word]);
    expect(sentMessages()).toEqual([hi]);
    await send([hi, add, change('tool_removal', named(word))], tools);
    expect(sentTools()).toEqual(['a', 'b']);
    const bad = change('tool_addition', { type: 'tool_definition', definition: { name: '' } });
    expect((await send([hi, bad])).status).toBe(422);
  });
});
