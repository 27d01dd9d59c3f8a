import { expect, it } from 'vitest';
import type { ChatChunk, ChatDelta, ChatResponse, FinishReason } from '../chat.ts';
import { chunkPresenter, presentChat } from './present.ts';

const functions = { hasFunctions: true, customs: new Set<string>() };
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

it('returns the call as function_call', () => {
  const told = presentChat(
    response({ tool_calls: [call('f'), call('g')], reasoning: 'hm' }, 'tool_calls'),
    functions,
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
    expect(presentChat(given, functions)).toEqual(given);
  },
);

it('does not change the answer to a request with tools', () => {
  const given = response({ tool_calls: [call('f')] }, 'tool_calls');
  expect(presentChat(given, { hasFunctions: false, customs: new Set() })).toBe(given);
});

const chunk = (delta: ChatDelta, finish_reason: FinishReason | null = null): ChatChunk => ({
  id: 'chatcmpl_1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
});

it('streams the one call in pieces, without its id', () => {
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
  ].map(chunkPresenter(functions)!);
  expect(chunks.flatMap(({ choices }) => choices)).toMatchObject([
    { delta: { role: 'assistant', content: '' }, finish_reason: null },
    { delta: { function_call: { name: 'f', arguments: '' } }, finish_reason: null },
    { delta: { function_call: { arguments: '{}' } }, finish_reason: null },
    { delta: {}, finish_reason: null },
    { delta: {}, finish_reason: 'function_call' },
  ]);
  expect(JSON.stringify(chunks)).not.toContain('tool_calls');
});

const freeText = { hasFunctions: false, customs: new Set(['sh']) };
const custom = (name: string, json: string) => ({ ...call(name), function: { name, arguments: json } });

it('returns free-text calls as such, beside function calls', () => {
  const given = [call('f'), custom('sh', '{"input":"ls \\"a\\""}'), custom('sh', '{"input":"cu')];
  const { choices } = presentChat(response({ tool_calls: given }, 'tool_calls'), freeText);
  expect(choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: {
      tool_calls: [
        call('f'),
        { id: 'call_1', type: 'custom', custom: { name: 'sh', input: 'ls "a"' } },
        { id: 'call_1', type: 'custom', custom: { name: 'sh', input: 'cu' } },
      ],
    },
  });
  const said = response({ content: 'hi' }, 'stop');
  expect(presentChat(said, freeText)).toEqual(said);
});

it('streams a free-text call when it is complete, per choice', () => {
  const piece = (index: number, name: string, json: string) => ({
    tool_calls: [{ index, ...custom(name, json), id: `call_${index}` }],
  });
  const more = (index: number, json: string) => ({ tool_calls: [{ index, function: { arguments: json } }] });
  const other = (delta: ChatDelta, finish: FinishReason | null = null): ChatChunk => ({
    ...chunk({}),
    choices: [{ index: 1, delta, finish_reason: finish }],
  });
  const chunks = [
    chunk({ role: 'assistant', content: 'a' }),
    chunk(piece(0, 'sh', '{"inp')),
    other(piece(0, 'sh', '{"input":"b"}')),
    chunk(piece(1, 'f', '')),
    chunk(more(0, 'ut":"a"}')),
    chunk(more(1, '{}')),
    chunk({}, 'tool_calls'),
    other({}, 'length'),
    { ...chunk({}), choices: [] },
  ].map(chunkPresenter(freeText)!);
  const told = (input: string) => ({
    tool_calls: [{ index: 0, id: 'call_0', type: 'custom', custom: { name: 'sh', input } }],
  });
  expect(chunks.flatMap(({ choices }) => choices).map((choice) => 'delta' in choice && choice.delta)).toEqual(
    [{ role: 'assistant', content: 'a' }, {}, {}, piece(1, 'f', ''), {}, more(1, '{}'), told('a'), told('b')],
  );
});

it('does not change the chunks of other requests', () => {
  expect(chunkPresenter({ hasFunctions: false, customs: new Set() })).toBeUndefined();
});
