import { expect, it } from 'vitest';
import type { ChatChunk, ChatDelta, ChatResponse, FinishReason } from '../chat.ts';
import { presentChat, toFunctionsChunk } from './function-answer.ts';

const call = (name: string) => ({
  id: 'call_1',
  type: 'function' as const,
  function: { name, arguments: '{}' },
});

function response(message: object, finish_reason: FinishReason): ChatResponse {
  const choice = {
    index: 0,
    message: { role: 'assistant', content: null, refusal: null, ...message },
    logprobs: null,
    finish_reason,
  };
  const usage = {
    prompt_tokens: 1,
    completion_tokens: 1,
    total_tokens: 2,
    prompt_tokens_details: { cached_tokens: 0 },
  };
  return {
    id: 'chatcmpl_1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [choice],
    usage,
  } as ChatResponse;
}

it('puts the call where functions had it', () => {
  const told = presentChat(
    response({ tool_calls: [call('f'), call('g')], reasoning: 'hm' }, 'tool_calls'),
    true,
  );
  expect(told.choices).toEqual([
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        refusal: null,
        reasoning: 'hm',
        function_call: { name: 'f', arguments: '{}' },
      },
      logprobs: null,
      finish_reason: 'function_call',
    },
  ]);
});

it.each<FinishReason>(['stop', 'length', 'content_filter'])(
  'leaves an answer without a call, ended by %s',
  (finish) => {
    const given = response({ content: 'hi' }, finish);
    expect(presentChat(given, true)).toEqual(given);
  },
);

it('leaves the answer to a request with tools', () => {
  const given = response({ tool_calls: [call('f')] }, 'tool_calls');
  expect(presentChat(given, false)).toBe(given);
});

it('streams the one call in pieces, without its id', () => {
  const chunk = (delta: ChatDelta, finish_reason: FinishReason | null = null): ChatChunk => ({
    id: 'chatcmpl_1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  });
  const chunks = [
    chunk({ role: 'assistant', content: '' }),
    chunk({
      tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }],
    }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }),
    chunk({
      tool_calls: [{ index: 1, id: 'call_2', type: 'function', function: { name: 'g', arguments: '' } }],
    }),
    chunk({}, 'tool_calls'),
    { ...chunk({}), choices: [] },
  ].map(toFunctionsChunk);
  expect(
    chunks.flatMap(({ choices }) => choices.map(({ delta, finish_reason }) => [delta, finish_reason])),
  ).toEqual([
    [{ role: 'assistant', content: '' }, null],
    [{ function_call: { name: 'f', arguments: '' } }, null],
    [{ function_call: { arguments: '{}' } }, null],
    [{}, null],
    [{}, 'function_call'],
  ]);
});
