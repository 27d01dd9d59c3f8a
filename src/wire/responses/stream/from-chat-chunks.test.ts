import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../core/errors.ts';
import type { ChatChunk, ChatDelta, FinishReason } from '../../chat/chat.ts';
import { ResponseStream } from './from-chat-chunks.ts';
import { replayEvents } from './replay.ts';
import { newResponse, responseError } from '../answer/response-body.ts';
import type { ResponseEvent } from '../responses.ts';
import { responseErrorEvent } from '../../errors/error-events.ts';
import { typedEvent } from '../../shared/sse.ts';

const id = `resp_${'0'.repeat(32)}`;

function chunkOf(delta: ChatDelta, finish: FinishReason | null = null): ChatChunk {
  return {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

const usage: ChatChunk = {
  ...chunkOf({}),
  choices: [],
  usage: {
    prompt_tokens: 1,
    completion_tokens: 2,
    total_tokens: 3,
    prompt_tokens_details: { cached_tokens: 0 },
  },
};

const begin = () =>
  new ResponseStream(
    newResponse({ model: 'm', input: 'x' }, { id, createdAt: 7, model: 'm', status: 'in_progress' }),
    () => 'call_made',
  );

/** A whole stream of these deltas. */
function encode(deltas: ChatDelta[], finish: FinishReason = 'stop') {
  const stream = begin();
  const events = [...deltas.map((delta) => chunkOf(delta)), chunkOf({}, finish), usage].flatMap((chunk) =>
    stream.read([chunk]),
  );
  const { body, events: last } = stream.end(8);
  return { body, events: [...events, ...last], pieces: stream.pieces };
}

const kinds = (events: ResponseEvent[]) => events.map(({ type }) => type.replace('response.', ''));
const call = (index: number, more: { id?: string; name?: string; arguments?: string }) => ({
  tool_calls: [
    { index, ...(more.id && { id: more.id }), function: { name: more.name, arguments: more.arguments } },
  ],
});

describe('the events of a stream', () => {
  it('of text', () => {
    const { events, body } = encode([
      { role: 'assistant', content: '' },
      { content: 'hel' },
      { content: 'lo' },
    ]);
    expect(kinds(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.map((event) => event.sequence_number)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(events[0]).toMatchObject({ response: { id, status: 'in_progress', output: [], usage: null } });
    expect(events[2]).toMatchObject({ output_index: 0, item: { status: 'in_progress', content: [] } });
    expect(events[3]).toMatchObject({ content_index: 0, part: { type: 'output_text', text: '' } });
    expect(events[4]).toMatchObject({ item_id: body.output[0]!.id, delta: 'hel', logprobs: [] });
    expect(events[6]).toMatchObject({ text: 'hello' });
    expect(events[9]).toMatchObject({ response: { ...body, usage: { total_tokens: 3 } } });
  });

  it('of text before a call, which is commentary, and of text after one', () => {
    const { events, body } = encode(
      [{ content: 'I look.' }, call(0, { id: 'call_1', name: 'f', arguments: '{}' }), { content: 'So.' }],
      'tool_calls',
    );
    const messages = events.filter(({ item }) => (item as { type?: string })?.type === 'message');
    expect(messages.map(({ type, item }) => [type, (item as { phase?: string }).phase])).toEqual([
      ['response.output_item.added', undefined],
      ['response.output_item.done', 'commentary'],
      ['response.output_item.added', undefined],
      ['response.output_item.done', 'commentary'],
    ]);
    expect(body.output).toMatchObject([{ phase: 'commentary' }, {}, { phase: 'commentary' }]);
    expect(encode([{ content: 'Done.' }]).body.output).toMatchObject([{ phase: 'final_answer' }]);
  });

  it('of a call alone, without an empty message', () => {
    const { events, body } = encode(
      [
        { role: 'assistant', content: '' },
        call(0, { id: 'call_1', name: 'f', arguments: '' }),
        call(0, { arguments: '{}' }),
      ],
      'tool_calls',
    );
    expect(kinds(events).slice(2)).toEqual([
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    expect(events[2]).toMatchObject({ item: { call_id: 'call_1', name: 'f', arguments: '' } });
    expect(events[4]).toMatchObject({ name: 'f', arguments: '{}' });
    expect(body).toMatchObject({ status: 'completed', output: [{ type: 'function_call' }] });
  });

  it('of reasoning, as its summary', () => {
    const { events } = encode([
      { reasoning: 'h', reasoning_content: 'h' },
      { reasoning_content: 'm' },
      { content: 'y' },
    ]);
    expect(kinds(events).slice(2, 9)).toEqual([
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
    ]);
    expect(events[6]).toMatchObject({ text: 'hm', summary_index: 0 });
    const content = [{ type: 'reasoning_text', text: 'hm' }];
    expect(events[8]).toMatchObject({ item: { type: 'reasoning', content } });
    expect(events.at(-1)).toMatchObject({ response: { output: [{ content }, {}] } });
    expect(events.some(({ type }) => type.includes('reasoning_text'))).toBe(false);
  });

  it('of interleaved reasoning and calls: no delta for a closed item', () => {
    const { events, body } = encode([
      { reasoning: 'a' },
      call(0, { id: 'call_1', name: 'f', arguments: '{' }),
      { reasoning: 'b' },
      call(1, { name: 'g', arguments: '{}' }),
      call(0, { arguments: '}' }),
      { content: 'c' },
    ]);
    const done = new Set<unknown>();
    for (const event of events) {
      if (event.type === 'response.output_item.done') done.add(event['output_index']);
      if (event.type.endsWith('.delta'))
        expect(done.has(event['output_index']), JSON.stringify(event)).toBe(false);
    }
    expect(body.output).toMatchObject([
      { type: 'reasoning', summary: [{ text: 'a' }] },
      { type: 'function_call', call_id: 'call_1', arguments: '{}' },
      { type: 'reasoning', summary: [{ text: 'b' }] },
      { type: 'function_call', call_id: 'call_made', name: 'g' },
      { type: 'message', content: [{ text: 'c' }] },
    ]);
  });

  it('of white space after a call are none', () => {
    const { body } = encode([
      call(0, { id: 'c', name: 'f', arguments: '{}' }),
      { content: '\n' },
      { content: '' },
    ]);
    expect(body.output).toHaveLength(1);
  });

  it('end with incomplete at the token limit', () => {
    const { events, body } = encode([{ content: 'x' }], 'length');
    expect(events.at(-1)).toMatchObject({ type: 'response.incomplete', response: { status: 'incomplete' } });
    expect(events.at(-2)).toMatchObject({ item: { status: 'incomplete' } });
    expect(body.incomplete_details).toEqual({ reason: 'max_output_tokens' });
  });

  it('end without usage', () => {
    const stream = begin();
    stream.read([chunkOf({ content: 'x' }, 'stop')]);
    expect(stream.end(8).body).toMatchObject({ status: 'completed', usage: null });
  });

  it('do not change once they are sent', () => {
    const stream = begin();
    const first = stream.read([chunkOf({ content: 'a' })]);
    const copy = structuredClone(first);
    stream.read([chunkOf({ content: 'b' })]);
    stream.end(8);
    expect(first).toEqual(copy);
  });
});

describe('a failed stream', () => {
  const error = new ApiError('upstream_error', 'The engine failed.');

  it('leaves nothing if nothing was sent', () => {
    expect(begin().fail(responseError(error))).toBeUndefined();
  });

  it('leaves its items, as failed', () => {
    const stream = begin();
    stream.read([chunkOf({ content: 'half' })]);
    expect(stream.fail(responseError(error))).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: 'The engine failed.' },
      output: [{ status: 'incomplete', content: [{ text: 'half' }] }],
    });
  });

  it('ends with the event that all clients raise', () => {
    expect(responseErrorEvent(error, 5)).toBe(
      'event: error\ndata: {"type":"error","sequence_number":5,"code":"upstream_error","message":"The engine failed.",' +
        '"param":null,"error":{"type":"server_error","code":"upstream_error","message":"The engine failed.","param":null}}\n\n',
    );
  });

  it('has its data in one line', () => {
    const event = { type: 'response.created', sequence_number: 0, text: 'a\n\nb' };
    expect(typedEvent(event)).toBe(
      'event: response.created\ndata: {"type":"response.created","sequence_number":0,"text":"a\\n\\nb"}\n\n',
    );
  });

  it('is replayed up to the failure', () => {
    const stream = begin();
    const events = [
      ...stream.read([chunkOf({ content: 'ha' })]),
      ...stream.read([chunkOf({ content: 'lf' })]),
    ];
    const body = stream.fail(responseError(error))!;
    const again = [...replayEvents(body, stream.pieces)].flat();
    expect(again.slice(0, -1)).toEqual(events);
    expect(again.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed' } });
  });
});

it('streams a refusal as a part of its own', () => {
  const { body, events } = encode([
    { role: 'assistant', content: '' },
    { refusal: 'I will ' },
    { refusal: 'not.' },
  ]);
  const deltas = events.filter(({ type }) => type === 'response.refusal.delta');
  expect(deltas.map(({ delta }) => delta)).toEqual(['I will ', 'not.']);
  expect(body.output).toMatchObject([{ content: [{ type: 'refusal', refusal: 'I will not.' }] }]);
});

it('reports reasoning tokens, and zero if the engine does not', () => {
  const told = (completion_tokens_details?: { reasoning_tokens: number }) => {
    const stream = begin();
    for (const chunk of [
      chunkOf({ content: 'x' }, 'stop'),
      {
        ...usage,
        usage: { ...usage.usage!, ...(completion_tokens_details && { completion_tokens_details }) },
      },
    ])
      stream.read([chunk]);
    return stream.end(8).body.usage?.output_tokens_details;
  };
  expect([told({ reasoning_tokens: 1 }), told()]).toEqual([{ reasoning_tokens: 1 }, { reasoning_tokens: 0 }]);
});

// In time that grows with its square, this would take half a minute.
it('has the index of every one of many items', () => {
  const turns = Array.from({ length: 30_000 }, (): ChatDelta => ({ reasoning: 'a', content: 'b' }));
  const { events, body } = encode(turns);
  const places = events.flatMap((event) =>
    event.type === 'response.output_item.done' ? [event['output_index']] : [],
  );
  expect(places).toEqual(body.output.map((_, at) => at));
});
