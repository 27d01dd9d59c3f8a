import { describe, expect, it } from 'vitest';
import { collectMessage } from '../../../../test/support/collect-message.ts';
import { ApiError } from '../../../core/errors.ts';
import type { ChatChunk, ChatDelta, FinishReason } from '../../chat/chat.ts';
import type { MessageEvent } from '../messages.ts';
import { messageErrorEvent } from '../../errors/error-events.ts';
import { typedEvent } from '../../shared/sse.ts';
import { createMessageEncoder } from './stream-encoder.ts';

type Choice = Partial<ChatChunk['choices'][number]>;

const chunk = (delta: ChatDelta, finish: FinishReason | null = null, more: Choice = {}): ChatChunk => ({
  id: 'chatcmpl_7',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'tiny',
  choices: [{ index: 0, delta, finish_reason: finish, ...more }],
});
const usage: ChatChunk = {
  ...chunk({}),
  choices: [],
  usage: {
    prompt_tokens: 10,
    completion_tokens: 4,
    total_tokens: 14,
    prompt_tokens_details: { cached_tokens: 8 },
  },
};
const say = (content: string) => chunk({ content });
const think = (reasoning: string) => chunk({ reasoning, reasoning_content: reasoning });
const begin = (index: number, args = '') =>
  chunk({
    tool_calls: [
      { index, id: `call_${index}`, type: 'function', function: { name: 'look', arguments: args } },
    ],
  });
const go = (index: number, args: string) => chunk({ tool_calls: [{ index, function: { arguments: args } }] });
const over = chunk({}, 'stop');

function encode(chunks: ChatChunk[], hidesThinking = false): MessageEvent[] {
  const encoder = createMessageEncoder({ inputTokens: 9, hidesThinking, tier: 'standard' });
  return [...chunks.flatMap((each) => encoder.push(each)), ...encoder.end()];
}

/** The events in a few letters: `+text`, `text "..."`, `-`. */
const short = (events: MessageEvent[]): string[] =>
  events.flatMap((event) => {
    if (event.type === 'content_block_start') return [`${event.index} +${event.content_block.type}`];
    if (event.type === 'content_block_stop') return [`${event.index} -`];
    if (event.type !== 'content_block_delta') return [];
    const { type, ...rest } = event.delta;
    return type === 'signature_delta'
      ? [`${event.index} signed`]
      : [`${event.index} ${Object.values(rest)[0]}`];
  });

describe('a streamed message', () => {
  it('begins with the estimated usage and ends with the final one', () => {
    const events = encode([chunk({ role: 'assistant', content: '' }), say('a'), say('b'), over, usage]);
    expect(events.map(({ type }) => type)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(events[0]).toMatchObject({
      message: { id: 'msg_7', model: 'tiny', content: [], stop_reason: null, usage: { input_tokens: 9 } },
    });
    expect(events.at(-2)).toEqual({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null, stop_details: null, container: null },
      usage: {
        input_tokens: 2,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 8,
        output_tokens: 4,
      },
    });
  });

  it('prefers the reported prompt usage to the estimate', () => {
    const prompt = { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 8 } };
    const [start, ...events] = encode([{ ...say('a'), prompt }, over]);
    const told = { input_tokens: 2, cache_creation_input_tokens: 0, cache_read_input_tokens: 8 };
    expect(start).toMatchObject({ message: { usage: { ...told, output_tokens: 0 } } });
    expect(events.at(-2)).toMatchObject({ type: 'message_delta', usage: { ...told, output_tokens: 2 } });
  });

  it('sends each piece immediately', () => {
    const encoder = createMessageEncoder({ inputTokens: 1, hidesThinking: false, tier: 'standard' });
    expect(short(encoder.push(say('a')))).toEqual(['0 +text', '0 a']);
    expect(short(encoder.push(say('b')))).toEqual(['0 b']);
    expect(short(encoder.push(begin(0)))).toEqual(['0 -', '1 +tool_use']);
    expect(short(encoder.push(go(0, '{"a":')))).toEqual(['1 {"a":']);
  });

  it('has no block for empty text', () => {
    expect(short(encode([say(''), begin(0), go(0, '{}'), say(''), over]))).toEqual([
      '0 +tool_use',
      '0 {}',
      '0 -',
    ]);
    expect(short(encode([say(''), over]))).toEqual([]);
  });

  it('signs thinking, and hides it on request', () => {
    const chunks = [think('h'), think('m'), say('so'), over];
    expect(short(encode(chunks))).toEqual([
      '0 +thinking',
      '0 h',
      '0 m',
      '0 signed',
      '0 -',
      '1 +text',
      '1 so',
      '1 -',
    ]);
    expect(short(encode(chunks, true)).slice(0, 3)).toEqual(['0 +thinking', '0 signed', '0 -']);
  });

  it('opens a new block for another kind, and never writes to a closed one', () => {
    const chunks = [think('a'), say('b'), think('c'), begin(0, '{}'), say('d'), over];
    expect(short(encode(chunks)).filter((line) => line.includes('+'))).toEqual([
      '0 +thinking',
      '1 +text',
      '2 +thinking',
      '3 +tool_use',
      '4 +text',
    ]);
  });

  it('starts a call with an empty input, and completes one without arguments', () => {
    const events = encode([begin(0), over]);
    expect(events[1]).toEqual({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'call_0', name: 'look', input: {} },
    });
    expect(short(events)).toEqual(['0 +tool_use', '0 {}', '0 -']);
  });

  it.each([
    ['null', '{}'],
    ['[1]', '{}'],
    ['  ', '{}'],
    ['"{\\"a\\":1}"', '{"a":1}'],
    ['"{\\"a\\":12345678901234567890}"', '{"a":12345678901234567890}'],
  ])('makes an object of the arguments %s, as a plain message does', (args, input) => {
    const events = encode([begin(0), ...Array.from(args, (letter) => go(0, letter)), over]);
    expect(short(events)).toEqual(['0 +tool_use', `0 ${input}`, '0 -']);
  });

  // In time that grows with its square, this would take minutes.
  it('repairs long arguments that are not an object', () => {
    const pieces = Array.from({ length: 150_000 }, () => go(0, 'abcd'));
    const events = encode([begin(0, '"{\\"a\\":\\"'), ...pieces, go(0, '\\"}"'), over]);
    const [call] = collectMessage(events).content;
    expect(call).toMatchObject({ input: { a: 'abcd'.repeat(150_000) } });
  });

  it('sends calls one after another, also if they are interleaved', () => {
    const one = encode([begin(0), go(0, '{"a":1}'), begin(1), go(1, '{"b":2}'), over]);
    expect(short(one)).toEqual(['0 +tool_use', '0 {"a":1}', '0 -', '1 +tool_use', '1 {"b":2}', '1 -']);
    const mixed = [
      begin(0),
      begin(1),
      go(1, '{"b"'),
      go(0, '{"a"'),
      say('x'),
      go(1, ':2}'),
      go(0, ':1}'),
      over,
    ];
    expect(collectMessage(encode(mixed)).content).toMatchObject([
      { type: 'tool_use', id: 'call_0', input: { a: 1 } },
      { type: 'tool_use', id: 'call_1', input: { b: 2 } },
      { type: 'text', text: 'x' },
    ]);
  });

  it.each([
    ['stop', {}, 'end_turn'],
    ['length', {}, 'max_tokens'],
    ['content_filter', {}, 'refusal'],
    ['stop', { stop_reason: 'END' }, 'stop_sequence'],
  ] as const)('that finished with %s %o stopped for %s', (finish, more, reason) => {
    expect(collectMessage(encode([say('a'), chunk({}, finish, more)])).stop_reason).toBe(reason);
  });

  it('ends with tool_use after any call, whatever the engine reports', () => {
    const message = collectMessage(encode([say('Let me see.'), begin(0, '{}'), over]));
    expect(message.stop_reason).toBe('tool_use');
    const cut = encode([begin(0, '{"a'), chunk({}, 'length')]);
    expect(cut.at(-2)).toMatchObject({ delta: { stop_reason: 'max_tokens' } });
  });

  it('sends a refusal as text, and ends with it unless a tool is called', () => {
    const refused = collectMessage(encode([chunk({ refusal: 'I will ' }), chunk({ refusal: 'not.' }), over]));
    expect(refused).toMatchObject({
      content: [{ type: 'text', text: 'I will not.' }],
      stop_reason: 'refusal',
      stop_details: { explanation: 'I will not.' },
    });
    expect(collectMessage(encode([chunk({ refusal: 'No.' }), begin(0, '{}'), over])).stop_reason).toBe(
      'tool_use',
    );
  });

  it('ends without reported usage, and counts the pieces', () => {
    const { usage: counted } = collectMessage(encode([say('a'), say('b'), over]));
    expect(counted).toMatchObject({ input_tokens: 9, output_tokens: 3 });
  });

  it('accepts the finish reason with the last piece', () => {
    expect(collectMessage(encode([chunk({ content: 'all' }, 'stop'), usage])).content).toMatchObject([
      { text: 'all' },
    ]);
  });

  it('rejects an unfinished answer, and a call without a name', () => {
    expect(() => encode([say('a')])).toThrow(/ended early/);
    expect(() => encode([])).toThrow(/ended early/);
    expect(() => encode([go(0, '{}')])).toThrow(/without a name/);
  });
});

describe('its events', () => {
  it('are named', () => {
    expect(typedEvent({ type: 'message_stop' })).toBe(
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    );
  });

  it('report an error with the names of the messages API', () => {
    const event = messageErrorEvent(new ApiError('engine_overloaded', 'Busy.'), 'req_1');
    expect(event).toMatch(/^event: error\ndata: .*\n\n$/);
    expect(JSON.parse(event.split('\ndata: ')[1]!)).toMatchObject({
      type: 'error',
      error: { type: 'overloaded_error', message: 'Busy.', code: 'engine_overloaded' },
      request_id: 'req_1',
    });
  });
});
