import { expect, test } from 'vitest';
import { replayChat } from './replay.ts';

const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const answer = (message: object, finish = 'stop') =>
  JSON.stringify({
    id: 'chatcmpl_1',
    object: 'chat.completion',
    created: 7,
    model: 'm',
    service_tier: 'flex',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', refusal: null, ...message },
        logprobs: null,
        finish_reason: finish,
      },
    ],
    usage,
  });

const parsed = (text: string, includeUsage = false) =>
  [...replayChat(text, includeUsage)].map((event) => {
    expect(event).toMatch(/^data: [^\n]*\n\n$/);
    const data = event.slice('data: '.length, -2);
    return data === '[DONE]' ? data : (JSON.parse(data) as { choices: { delta: object }[]; usage?: object });
  });

test.each([
  [{ content: 'so' }, { content: 'so' }],
  [{ content: null, reasoning: 'hm' }, { reasoning: 'hm' }],
  [
    { content: null, function_call: { name: 'f', arguments: '{}' } },
    { function_call: { name: 'f', arguments: '{}' } },
  ],
  [
    { content: null, tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'sh', input: 'ls' } }] },
    { tool_calls: [{ index: 0, id: 'call_1', type: 'custom', custom: { name: 'sh', input: 'ls' } }] },
  ],
])('the message %j is one delta', (message, delta) => {
  const head = {
    id: 'chatcmpl_1',
    object: 'chat.completion.chunk',
    created: 7,
    model: 'm',
    service_tier: 'flex',
  };
  expect(parsed(answer(message, 'length'))).toEqual([
    {
      ...head,
      choices: [{ index: 0, delta: { role: 'assistant', ...delta }, logprobs: null, finish_reason: null }],
    },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'length' }] },
    '[DONE]',
  ]);
});

test('usage is in a chunk of its own, where it is asked for', () => {
  const events = parsed(answer({ content: 'so' }), true);
  expect(events.map((event) => (typeof event === 'string' ? event : event.usage))).toEqual([
    null,
    null,
    usage,
    '[DONE]',
  ]);
});
