import { describe, expect, it } from 'vitest';
import type { AssistantMessage, ChatChoice, ChatResponse, ToolCall } from '../../chat/chat.ts';
import { fromChatResponse, fromChatUsage } from './from-chat-response.ts';

const seen = { hidesThinking: false, tier: 'standard' } as const;
const called = (args: string, id = 'call_1'): ToolCall => ({
  id,
  type: 'function',
  function: { name: 'look', arguments: args },
});

function answer(message: Partial<AssistantMessage>, choice: Partial<ChatChoice> = {}): ChatResponse {
  return {
    id: 'chatcmpl_0123',
    object: 'chat.completion',
    created: 1,
    model: 'tiny',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: null, refusal: null, ...message },
        logprobs: null,
        finish_reason: 'stop',
        ...choice,
      },
    ],
    usage: {
      prompt_tokens: 10,
      completion_tokens: 3,
      total_tokens: 13,
      prompt_tokens_details: { cached_tokens: 4 },
    },
  };
}

describe('a chat completion as a message', () => {
  it('has the whole shape, under the same id', () => {
    expect(fromChatResponse(answer({ content: 'hello' }), seen)).toEqual({
      id: 'msg_0123',
      type: 'message',
      role: 'assistant',
      model: 'tiny',
      content: [{ type: 'text', text: 'hello' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage: {
        input_tokens: 6,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 4,
        output_tokens: 3,
        service_tier: 'standard',
      },
    });
  });

  it('has thinking, text and calls in this order, without empty blocks', () => {
    const calls = [called('{"a":1}'), called('', 'call_2')];
    const whole = { reasoning: 'hm', reasoning_content: 'hm', content: 'so', tool_calls: calls };
    expect(fromChatResponse(answer(whole), seen).content).toMatchObject([
      { type: 'thinking', thinking: 'hm', signature: expect.stringMatching(/.+/) },
      { type: 'text', text: 'so' },
      { type: 'tool_use', id: 'call_1', name: 'look', input: { a: 1 } },
      { type: 'tool_use', id: 'call_2', name: 'look', input: {} },
    ]);
    for (const content of [null, ''])
      expect(fromChatResponse(answer({ content, tool_calls: calls }), seen).content).toHaveLength(2);
    expect(fromChatResponse(answer({ content: '', reasoning: 'only' }), seen).content).toHaveLength(1);
    expect(fromChatResponse(answer({ content: '' }), seen).content).toEqual([]);
  });

  it('hides the thinking on request', () => {
    const [block] = fromChatResponse(answer({ reasoning: 'hm' }), {
      hidesThinking: true,
      tier: 'standard',
    }).content;
    expect(block).toMatchObject({
      type: 'thinking',
      thinking: '',
      signature: expect.not.stringContaining('hm'),
    });
  });

  it('has a refusal as text', () => {
    expect(fromChatResponse(answer({ refusal: 'I will not.' }), seen)).toMatchObject({
      content: [{ type: 'text', text: 'I will not.' }],
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', explanation: 'I will not.' },
    });
  });

  it.each([
    ['stop', {}, 'end_turn', null],
    ['stop', { stop_reason: 'END' }, 'stop_sequence', 'END'],
    ['stop', { calls: 1 }, 'tool_use', null],
    ['stop', { calls: 1, stop_reason: 'END' }, 'tool_use', null],
    ['tool_calls', { calls: 1 }, 'tool_use', null],
    ['tool_calls', {}, 'end_turn', null],
    ['length', {}, 'max_tokens', null],
    ['length', { calls: 1 }, 'max_tokens', null],
    ['content_filter', {}, 'refusal', null],
  ] as const)('that ended with %s and %o ended with %s', (finish_reason, how, reason, sequence) => {
    const { calls = 0, stop_reason = null } = how as { calls?: number; stop_reason?: string };
    const message = { content: 'so', ...(calls > 0 && { tool_calls: [called('{}')] }) };
    const told = fromChatResponse(answer(message, { finish_reason, stop_reason }), seen);
    expect([told.stop_reason, told.stop_sequence]).toEqual([reason, sequence]);
  });

  it.each([
    ['{"a":{"b":[1,2]}}', { a: { b: [1, 2] } }],
    ['  {"a":1}\n', { a: 1 }],
    ['"{\\"a\\":1}"', { a: 1 }],
    ['', {}],
    ['[1]', {}],
    ['null', {}],
    ['no JSON at all', {}],
    ['{"city":"Rome","days":3', { city: 'Rome' }],
    ['{"city":"Rome","days":3,', { city: 'Rome', days: 3 }],
    ['{"city":"Rome","da', { city: 'Rome' }],
    ['{"city":"Rome","days":', { city: 'Rome' }],
    ['{"city":"Rome","note":"cut \\"here', { city: 'Rome' }],
    ['{"list":[{"a":1},{"b":"x"', { list: [{ a: 1 }, { b: 'x' }] }],
    ['{"list":[1,2', { list: [1] }],
    ['{"deep":{"er":{"list":[true,', { deep: { er: { list: [true] } } }],
    ['{"flag":tru', {}],
    ['{', {}],
  ])('reads the arguments %j as %o', (json, input) => {
    const [block] = fromChatResponse(answer({ tool_calls: [called(json)] }), seen).content;
    expect(block).toMatchObject({ type: 'tool_use' });
    expect((block as { input: unknown }).input).toEqual(input);
  });

  it('keeps every digit of the arguments', () => {
    const json = '{"id":123456789012345678901,"share":0.12345678901234567890,"far":1e999,"near":1.5}';
    const { content } = fromChatResponse(answer({ tool_calls: [called(json)] }), seen);
    expect(JSON.stringify(content)).toContain(`"input":${json}`);
  });

  it('counts cached tokens separately, and never below zero', () => {
    const usage = answer({}).usage;
    const cached = (cached_tokens: number) =>
      fromChatUsage({ ...usage, prompt_tokens_details: { cached_tokens } });
    expect(cached(0)).toMatchObject({ input_tokens: 10, cache_read_input_tokens: 0 });
    expect(cached(99)).toMatchObject({ input_tokens: 0, cache_read_input_tokens: 10 });
  });

  it('counts thinking tokens if the engine does', () => {
    const { usage } = answer({});
    expect(fromChatUsage(usage)).not.toHaveProperty('output_tokens_details');
    expect(
      fromChatUsage({ ...usage, completion_tokens_details: { reasoning_tokens: 3 } }).output_tokens_details,
    ).toEqual({ thinking_tokens: 3 });
  });
});
