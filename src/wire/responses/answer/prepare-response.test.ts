import { describe, expect, it } from 'vitest';
import type { AssistantMessage, ChatResponse, FinishReason } from '../../chat/chat.ts';
import { fromChatResponse } from './prepare-response.ts';
import { newResponse } from './response-body.ts';
import type { ResponsesRequest } from '../responses.ts';

const id = `resp_${'ab'.repeat(16)}`;

function convert(
  message: Partial<AssistantMessage>,
  finish: FinishReason = 'stop',
  asked: Partial<ResponsesRequest> = {},
) {
  const request: ResponsesRequest = { model: 'alias', input: 'x', ...asked };
  const begun = newResponse(request, { id, createdAt: 7, model: 'alias', status: 'in_progress' });
  const response: ChatResponse = {
    id: 'chatcmpl_1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: null, refusal: null, ...message },
        logprobs: null,
        finish_reason: finish,
      },
    ],
    usage: {
      prompt_tokens: 9,
      completion_tokens: 3,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 4 },
    },
  };
  return fromChatResponse(begun, response, { at: 8, newCallId: () => 'call_made' });
}

const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } } as const;

describe('a response', () => {
  it('names the phase of its text: commentary beside a call, else the final answer', () => {
    const phases = (message: Partial<AssistantMessage>, finish?: FinishReason) =>
      convert(message, finish).output.map((item) => (item.type === 'message' ? item.phase : item.type));
    expect(phases({ content: 'hi' })).toEqual(['final_answer']);
    expect(phases({})).toEqual(['final_answer']);
    expect(phases({ refusal: 'no' })).toEqual(['final_answer']);
    expect(phases({ content: 'hi', reasoning: 'hm' }, 'length')).toEqual(['reasoning', 'final_answer']);
    expect(phases({ content: 'I look.', tool_calls: [call] })).toEqual(['commentary', 'function_call']);
  });

  it('has every key, and no number is null', () => {
    expect(convert({ content: 'hello' })).toEqual({
      id,
      object: 'response',
      created_at: 7,
      completed_at: 8,
      status: 'completed',
      background: false,
      error: null,
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: {},
      model: 'm',
      output: [
        {
          id: `msg_${'ab'.repeat(16)}0000`,
          type: 'message',
          status: 'completed',
          role: 'assistant',
          phase: 'final_answer',
          content: [{ type: 'output_text', text: 'hello', annotations: [], logprobs: [] }],
        },
      ],
      parallel_tool_calls: true,
      previous_response_id: null,
      reasoning: { effort: null, summary: null },
      safety_identifier: null,
      prompt_cache_key: null,
      service_tier: 'default',
      store: true,
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_logprobs: 0,
      text: { format: { type: 'text' }, verbosity: 'medium' },
      tool_choice: 'auto',
      tools: [],
      truncation: 'disabled',
      usage: {
        input_tokens: 9,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
        output_tokens: 3,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 12,
      },
    });
  });

  it('repeats the settings of the request', () => {
    const schema = { type: 'object' };
    expect(
      convert({ content: 'x' }, 'stop', {
        instructions: 'I',
        temperature: 0,
        top_p: 0.5,
        max_output_tokens: 5,
        store: false,
        metadata: { a: 'b' },
        parallel_tool_calls: false,
        reasoning: { effort: 'low' },
        tools: [{ type: 'web_search' }, { type: 'function', function: { name: 'f' } }],
        tool_choice: { type: 'function', function: { name: 'f' } },
        text: { format: { type: 'json_schema', name: 'n', schema } },
      }),
    ).toMatchObject({
      instructions: 'I',
      temperature: 0,
      top_p: 0.5,
      max_output_tokens: 5,
      store: false,
      metadata: { a: 'b' },
      parallel_tool_calls: false,
      reasoning: { effort: 'low', summary: null },
      tools: [{ type: 'function', name: 'f', description: null, parameters: null, strict: null }],
      tool_choice: { type: 'function', name: 'f' },
      text: { format: { type: 'json_schema', name: 'n', schema, strict: null, description: null } },
    });
  });

  it.each(['flex', 'priority', 'auto', null])('names the tier that served it, not the tier %j', (asked) => {
    expect(convert({ content: 'x' }, 'stop', { service_tier: asked }).service_tier).toBe('default');
  });

  it('has reasoning, text and calls as items of their own', () => {
    const { output } = convert(
      { reasoning: 'hm', content: 'y', tool_calls: [call, { ...call, id: '' }] },
      'tool_calls',
    );
    expect(output).toMatchObject([
      {
        type: 'reasoning',
        status: 'completed',
        summary: [{ type: 'summary_text', text: 'hm' }],
        content: [{ type: 'reasoning_text', text: 'hm' }],
      },
      { type: 'message', content: [{ text: 'y' }] },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}', status: 'completed' },
      { type: 'function_call', call_id: 'call_made' },
    ]);
    expect(new Set(output.map((item) => item.id)).size).toBe(4);
  });

  it.each([null, '', '\n'])('has no message of %j beside a call', (content) => {
    const items = convert({ content, tool_calls: [call] }, 'stop').output.map(({ type }) => type);
    expect(items).toEqual(content === '\n' ? ['message', 'function_call'] : ['function_call']);
  });

  it('has an empty message without content, but not beside reasoning', () => {
    expect(convert({ content: '' }).output).toMatchObject([{ type: 'message', content: [{ text: '' }] }]);
    expect(convert({ reasoning: 'hm' }, 'length').output).toMatchObject([
      { type: 'reasoning', status: 'incomplete' },
    ]);
  });

  it('keeps a refusal as one', () => {
    expect(convert({ refusal: 'No.' }).output).toMatchObject([
      { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] },
    ]);
  });

  it.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ] as const)('cut by %s is incomplete and says why', (finish, reason) => {
    expect(convert({ content: 'hel' }, finish)).toMatchObject({
      status: 'incomplete',
      completed_at: null,
      incomplete_details: { reason },
      output: [{ status: 'incomplete' }],
    });
  });
});
