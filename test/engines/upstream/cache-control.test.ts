import { describe, expect, it } from 'vitest';
import type { Flavor } from '../../../src/core/flavor.ts';
import type { MessagesRequest } from '../../../src/wire/messages/messages.ts';
import { toChatRequest } from '../../../src/wire/messages/request/to-chat-request.ts';
import { bodyTo } from './sent-to.ts';

// Cache marks reach the services that read them, from chat clients and from clients of messages, and no others.

const cache_control = { type: 'ephemeral', ttl: '1h' };
const text = (value: string, more = {}) => ({ type: 'text', text: value, ...more });
const marked = (value: string) => text(value, { cache_control: { ...cache_control, other: 1 } });
const kept = (value: string) => text(value, { cache_control });
const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };

const chat = {
  cache_control,
  tools: [{ ...tool, cache_control }],
  messages: [
    { role: 'system', content: [text('a '), marked('b '), text('c')] },
    { role: 'user', content: [marked('u')] },
    { role: 'assistant', content: [marked('w')], tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: [marked('r')] },
    { role: 'user', content: [text('v'), marked('x')] },
  ],
};

const messages: Partial<MessagesRequest> = {
  cache_control,
  system: [text('a'), marked('b'), text('c')],
  tools: [{ name: 'f', input_schema: { type: 'object' }, cache_control }],
  messages: [
    { role: 'user', content: [marked('u')] },
    {
      role: 'assistant',
      content: [marked('w'), { type: 'tool_use', id: 'c1', name: 'f', input: {}, cache_control }],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c1', content: 'r', cache_control },
        text('v'),
        marked('x'),
      ],
    },
  ],
};

const fromMessages = () => {
  const { model: _, ...rest } = toChatRequest({
    model: 'm',
    max_tokens: 9,
    ...messages,
  } as MessagesRequest).chat;
  return rest;
};

describe.each<Flavor>(['openrouter', 'offpeak'])('%s', (flavor) => {
  it('gets the marks of a chat', async () => {
    const sent = await bodyTo(flavor, chat);
    expect(sent).toMatchObject({ cache_control, tools: [{ cache_control }] });
    expect(sent['messages']).toEqual([
      { role: 'system', content: [text('a '), kept('b '), text('c')] },
      { role: 'user', content: [kept('u')] },
      { role: 'assistant', content: [kept('w')], tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: [kept('r')] },
      { role: 'user', content: [text('v'), kept('x')] },
    ]);
  });

  it('gets the marks of messages', async () => {
    const sent = await bodyTo(flavor, fromMessages());
    expect(sent).toMatchObject({ cache_control, tools: [{ cache_control }] });
    expect(sent['messages']).toEqual([
      { role: 'system', content: [text('a\n\n'), kept('b\n\n'), text('c')] },
      { role: 'user', content: [kept('u')] },
      { role: 'assistant', content: [kept('w')], tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: [kept('r')] },
      { role: 'user', content: [text('v'), kept('x')] },
    ]);
  });
});

describe('anthropic', () => {
  const turns = [
    { role: 'user', content: [kept('u')] },
    { role: 'assistant', content: [kept('w'), { type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c1', content: 'r', cache_control },
        text('v'),
        kept('x'),
      ],
    },
  ];

  it('gets the marks of a chat', async () => {
    const sent = await bodyTo('anthropic', chat);
    expect(sent).toMatchObject({ cache_control, tools: [{ name: 'f', cache_control }] });
    expect(sent['system']).toEqual([kept('a b '), text('c')]);
    expect(sent['messages']).toEqual(turns);
  });

  it('gets the marks of translated messages', async () => {
    const sent = await bodyTo('anthropic', fromMessages());
    expect(sent).toMatchObject({ cache_control, tools: [{ name: 'f', cache_control }] });
    expect(sent['system']).toEqual([kept('a\n\nb\n\n'), text('c')]);
    const [, said] = sent['messages'] as [unknown, { content: unknown[] }];
    expect(said.content[1]).toEqual({ type: 'tool_use', id: 'c1', name: 'f', input: {}, cache_control });
  });

  it('gets the system text as one string without marks', async () => {
    const plain = [
      { role: 'system', content: 'a' },
      { role: 'developer', content: [text('b'), text('c')] },
      { role: 'user', content: 'u' },
    ];
    expect((await bodyTo('anthropic', { messages: plain }))['system']).toBe('a\n\nbc');
  });
});

describe.each<Flavor>(['vllm', 'openai', 'mistral', 'generic'])('%s', (flavor) => {
  it.each([
    ['a chat', () => chat, 'a b c'],
    ['messages', fromMessages, 'a\n\nb\n\nc'],
  ])('gets only the text of %s', async (_, request, system) => {
    const sent = await bodyTo(flavor, request());
    expect(JSON.stringify(sent)).not.toContain('cache_control');
    const contents = (sent['messages'] as { content: unknown }[]).map(({ content }) => content);
    expect(contents).toEqual([system, 'u', 'w', 'r', [text('v'), text('x')]]);
  });
});
