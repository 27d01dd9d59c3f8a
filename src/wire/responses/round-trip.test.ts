import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatChunk, ChatDelta, ChatMessage, ChatResponse } from '../chat/chat.ts';
import { checkChatRequest } from '../chat/request/request.ts';
import { ResponseStream } from './stream/from-chat-chunks.ts';
import { fromChatResponse } from './answer/prepare-response.ts';
import { replayEvents } from './stream/replay.ts';
import { checkResponsesRequest } from './request/request.ts';
import { newResponse } from './answer/response-body.ts';
import type { InputItem, OutputItem, ResponseEvent, ResponsesRequest } from './responses.ts';
import { storedItems } from './stored-items.ts';
import { toChatRequest } from './request/to-chat-request.ts';

const id = `resp_${'0'.repeat(32)}`;
const text = fc
  .string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
  .filter((value) => value.trim() !== '');

/** Content of one assistant turn. */
interface Turn {
  reasoning: string | null;
  said: string | null;
  refused: string | null;
  calls: { name: string; json: string; output: string }[];
}

const turn: fc.Arbitrary<Turn> = fc.record({
  reasoning: fc.option(text),
  said: fc.option(text),
  refused: fc.option(text, { freq: 4 }),
  calls: fc.array(
    fc.record({ name: fc.constantFrom('f', 'g'), json: fc.json({ maxDepth: 1 }), output: text }),
    { maxLength: 3 },
  ),
});

interface Exchange {
  asked: string;
  turns: Turn[];
}

/** A user asks; the assistant works through tools until it has something to say. */
const exchange: fc.Arbitrary<Exchange> = fc.record({
  asked: text,
  turns: fc.array(
    turn.filter(({ said, refused, calls }) => (said ?? refused) !== null || calls.length > 0),
    { minLength: 1, maxLength: 3 },
  ),
});

const callId = (e: number, t: number, c: number) => `call_${e}_${t}_${c}`;

/** The messages a chat client would send for the same story. */
function chatMessages(story: Exchange[]): ChatMessage[] {
  return story.flatMap(({ asked, turns }, e) => [
    { role: 'user' as const, content: asked },
    ...turns.flatMap(({ reasoning, said, refused, calls }, t): ChatMessage[] => [
      {
        role: 'assistant',
        content: said,
        ...(refused !== null && { refusal: refused }),
        ...(reasoning !== null &&
          (e === story.length - 1 || turns.some(({ calls: made }) => made.length > 0)) && {
            reasoning,
            reasoning_content: reasoning,
          }),
        ...(calls.length > 0 && {
          tool_calls: calls.map(({ name, json }, c) => ({
            id: callId(e, t, c),
            type: 'function' as const,
            function: { name, arguments: json },
          })),
        }),
      },
      ...calls.map(({ output }, c): ChatMessage => ({
        role: 'tool',
        tool_call_id: callId(e, t, c),
        content: output,
      })),
    ]),
  ]);
}

function answerOf({ reasoning, said, refused, calls }: Turn, e: number, t: number): ChatResponse {
  return {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: said,
          refusal: refused,
          ...(reasoning !== null && { reasoning, reasoning_content: reasoning }),
          ...(calls.length > 0 && {
            tool_calls: calls.map(({ name, json }, c) => ({
              id: callId(e, t, c),
              type: 'function' as const,
              function: { name, arguments: json },
            })),
          }),
        },
        logprobs: null,
        finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
      },
    ],
    usage: {
      prompt_tokens: 1,
      completion_tokens: 1,
      total_tokens: 2,
      prompt_tokens_details: { cached_tokens: 0 },
    },
  };
}

const request: ResponsesRequest = { model: 'm', input: 'x' };
const begun = newResponse(request, { id, createdAt: 1, model: 'm', status: 'in_progress' });
const options = { at: 2, newCallId: () => 'call_made' };

/** The story as a responses client replays it: what it asked, what it was answered, and its results. */
function inputItems(story: Exchange[]): InputItem[] {
  return story.flatMap(({ asked, turns }, e) => [
    { role: 'user', content: asked },
    ...turns.flatMap((each, t): InputItem[] => [
      ...(fromChatResponse(begun, answerOf(each, e, t), options).output as unknown as InputItem[]),
      ...each.calls.map(({ output }, c) => ({
        type: 'function_call_output',
        call_id: callId(e, t, c),
        output,
      })),
    ]),
  ]);
}

/** Consecutive turns of text alone are indistinguishable from two answers, because none ends a tool loop. */
const stories = fc.array(exchange, { minLength: 1, maxLength: 3 }).map((story) =>
  story.map(({ asked, turns }) => {
    const end = turns.findIndex(({ calls }) => calls.length === 0);
    return { asked, turns: end < 0 ? turns : turns.slice(0, end + 1) };
  }),
);

describe('any conversation', () => {
  it('round-trips from chat answers to items and messages', () => {
    fc.assert(
      fc.property(stories, (story) => {
        const input = inputItems(story);
        expect(checkResponsesRequest({ ...request, input })).toEqual([]);
        const items = storedItems(input, id).map((item, n) => ({ item, path: `input[${n}]` }));
        const { chat } = toChatRequest({ ...request, input }, items);
        expect(chat.messages).toEqual(chatMessages(story));
        expect(checkChatRequest(chat)).toEqual([]);
      }),
    );
  });

  it('is the same through the store', () => {
    fc.assert(
      fc.property(stories, (story) => {
        const once = storedItems(inputItems(story), id);
        const twice = storedItems(JSON.parse(JSON.stringify(once)) as InputItem[], `resp_${'1'.repeat(32)}`);
        expect(twice).toEqual(once);
        expect(once.every((item) => item.id !== '' && item.type !== '')).toBe(true);
      }),
    );
  });
});

type Delta =
  | { kind: 'reasoning' | 'content' | 'refusal'; text: string }
  | { kind: 'call'; index: number; text: string };

const delta: fc.Arbitrary<Delta> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('reasoning' as const, 'content' as const, 'refusal' as const),
    text: fc.string({ maxLength: 5 }),
  }),
  fc.record({ kind: fc.constant('call' as const), index: fc.nat(2), text: fc.string({ maxLength: 5 }) }),
);

function chunk(fields: ChatDelta): ChatChunk {
  return {
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: fields, finish_reason: null }],
  };
}

function chunksOf(deltas: Delta[]): ChatChunk[] {
  const seen = new Set<number>();
  return deltas.map((each) => {
    if (each.kind !== 'call') return chunk({ [each.kind]: each.text });
    const isFirst = !seen.has(each.index);
    seen.add(each.index);
    const called = { ...(isFirst && { name: 'f' }), arguments: each.text };
    return chunk({
      tool_calls: [{ index: each.index, ...(isFirst && { id: `call_${each.index}` }), function: called }],
    });
  });
}

/** Puts the items together as a client library does, which refuses whatever is out of order. */
function assembled(events: ResponseEvent[]): OutputItem[] {
  const items: Record<string, string>[] = [];
  const done: OutputItem[] = [];
  for (const event of events) {
    const index = event['output_index'] as number;
    if (event.type === 'response.output_item.added') {
      expect(index).toBe(items.length);
      items.push({});
    } else if (event.type.endsWith('.delta')) {
      expect(done[index], 'the item is open').toBeUndefined();
      const key = event.type;
      items[index]![key] = (items[index]![key] ?? '') + (event['delta'] as string);
    } else if (event.type === 'response.content_part.added') items[index] = {};
    else if (/(text|refusal)\.done$/.test(event.type))
      expect(event['text'] ?? event['refusal']).toBe(
        items[index]![event.type.replace('.done', '.delta')] ?? '',
      );
    else if (event.type === 'response.function_call_arguments.done')
      expect(event['arguments']).toBe(items[index]!['response.function_call_arguments.delta'] ?? '');
    else if (event.type === 'response.output_item.done') {
      expect(done[index]).toBeUndefined();
      done[index] = event['item'] as OutputItem;
    }
  }
  expect(done.filter(Boolean)).toHaveLength(items.length);
  return done;
}

describe('any stream', () => {
  const run = (deltas: Delta[]) => {
    const stream = new ResponseStream(begun, options.newCallId);
    const events = [chunk({ role: 'assistant', content: '' }), ...chunksOf(deltas)].flatMap((each) =>
      stream.read([each]),
    );
    const end = stream.end(2);
    return { body: end.body, events: [...events, ...end.events], pieces: stream.pieces };
  };

  it('has numbers without gaps, one end, and deltas that add up to its items', () => {
    fc.assert(
      fc.property(fc.array(delta, { maxLength: 12 }), (deltas) => {
        const { body, events } = run(deltas);
        expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, n) => n));
        expect(
          events.filter(({ type }) => /^response\.(completed|incomplete|failed)$/.test(type)),
        ).toHaveLength(1);
        expect(assembled(events)).toEqual(body.output);
      }),
    );
  });

  it('loses no reasoning and no call', () => {
    fc.assert(
      fc.property(fc.array(delta, { maxLength: 12 }), (deltas) => {
        const { output } = run(deltas).body;
        const sent = (kind: 'reasoning' | 'content') =>
          deltas.map((each) => (each.kind === kind ? each.text : '')).join('');
        const thought = output
          .map((item) => (item.type === 'reasoning' ? item.summary[0]!.text : ''))
          .join('');
        expect(thought).toBe(sent('reasoning'));
        for (const index of [0, 1, 2]) {
          const pieces = deltas.filter((each) => each.kind === 'call' && each.index === index);
          const call = output.find(
            (each) => each.type === 'function_call' && each.call_id === `call_${index}`,
          );
          expect(call?.type === 'function_call' ? call.arguments : undefined).toBe(
            pieces.length === 0 ? undefined : pieces.map((each) => each.text).join(''),
          );
        }
      }),
    );
  });

  it('is replayed exactly', () => {
    fc.assert(
      fc.property(fc.array(delta, { maxLength: 12 }), (deltas) => {
        const { body, events, pieces } = run(deltas);
        const kept = JSON.parse(JSON.stringify({ body, pieces })) as {
          body: typeof body;
          pieces: typeof pieces;
        };
        expect([...replayEvents(kept.body, kept.pieces)].flat()).toEqual(JSON.parse(JSON.stringify(events)));
      }),
    );
  });

  it('that was not streamed is replayed whole, with the same end', () => {
    fc.assert(
      fc.property(fc.array(delta, { maxLength: 12 }), (deltas) => {
        const { body } = run(deltas);
        const events = [...replayEvents(body, null)].flat();
        expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, n) => n));
        expect(assembled(events)).toEqual(body.output);
        expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: body });
      }),
    );
  });
});
