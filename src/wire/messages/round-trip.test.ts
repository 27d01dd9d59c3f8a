import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { collectMessage } from '../../../test/support/collect-message.ts';
import { checkChatRequest } from '../chat/request/request.ts';
import type {
  AssistantMessage,
  ChatChunk,
  ChatDelta,
  ChatMessage,
  ChatResponse,
  ContentPart,
} from '../chat/chat.ts';
import { fromChatResponse } from './answer/from-chat-response.ts';
import type { Block, MessagesRequest, MessagesTurn } from './messages.ts';
import { checkMessagesRequest } from './request/request.ts';
import { createMessageEncoder } from './stream/stream-encoder.ts';
import { toChatRequest } from './request/to-chat-request.ts';

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const json = fc.dictionary(
  fc.string({ maxLength: 5 }).filter((key) => key !== '__proto__'),
  fc.jsonValue({ maxDepth: 2 }).map(plain),
  { maxKeys: 3 },
);
const name = fc.constantFrom('look', 'move', 'stop');

/** As it is after a trip through JSON: no `-0`. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Parts of an assistant's answer: thinking, text and calls, each optional. */
const answers: fc.Arbitrary<AssistantMessage> = fc
  .record({
    thinking: fc.option(words),
    content: fc.option(words),
    refusal: fc.option(words, { freq: 4 }),
    calls: fc.array(fc.tuple(name, json), { maxLength: 3 }),
  })
  .filter(
    ({ thinking, content, refusal, calls }) => Boolean(thinking ?? content ?? refusal) || calls.length > 0,
  )
  .map(({ thinking, content, refusal, calls }) => ({
    role: 'assistant',
    content,
    refusal,
    ...(thinking !== null && { reasoning: thinking, reasoning_content: thinking }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(([called, input], at) => ({
        id: `call_${at}`,
        type: 'function' as const,
        function: { name: called, arguments: JSON.stringify(input) },
      })),
    }),
  }));

const respond = (message: AssistantMessage): ChatResponse => ({
  id: 'chatcmpl_1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message, logprobs: null, finish_reason: message.tool_calls ? 'tool_calls' : 'stop' }],
  usage: {
    prompt_tokens: 9,
    completion_tokens: 5,
    total_tokens: 14,
    prompt_tokens_details: { cached_tokens: 2 },
  },
});

const hi: MessagesTurn = { role: 'user', content: 'hi' };

it('an answer survives the round trip through the client', () => {
  fc.assert(
    fc.property(answers, fc.boolean(), (message, hidesThinking) => {
      const { content } = fromChatResponse(respond(message), { hidesThinking, tier: 'standard' });
      const replayed: MessagesRequest = {
        model: 'm',
        max_tokens: 1,
        messages: [hi, { role: 'assistant', content: plain(content) as Block[] }],
      };
      expect(checkMessagesRequest(replayed)).toEqual([]);
      // A refusal is text in messages, and the only content of its turn.
      const { refusal, reasoning: _, ...same } = message;
      const text = (message.content ?? '') + (refusal ?? '');
      const expected = { ...same, content: text === '' && message.tool_calls ? null : text };
      expect(toChatRequest(replayed).chat.messages[1]).toEqual(expected);
    }),
  );
});

it('a streamed answer equals the plain one, for any chunks', () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(answers, cuts, fc.boolean(), fc.boolean(), (message, sizes, mixes, hidesThinking) => {
      const response = respond(message);
      const encoder = createMessageEncoder({ inputTokens: 9, hidesThinking, tier: 'standard' });
      const chunks = chunksOf(response, sizes, mixes);
      const events = [...chunks.flatMap((chunk) => encoder.push(chunk)), ...encoder.end()];
      expect(collectMessage(events)).toEqual(
        plain(fromChatResponse(response, { hidesThinking, tier: 'standard' })),
      );
    }),
    { numRuns: 300 },
  );
});

/** An answer in pieces of these sizes; `mixes` lets the calls grow side by side. */
function chunksOf(response: ChatResponse, sizes: number[], mixes: boolean): ChatChunk[] {
  const { message, finish_reason } = response.choices[0]!;
  let turn = 0;
  const cut = (text: string): string[] => {
    const pieces: string[] = [];
    for (let at = 0; at < text.length;) {
      const size = sizes[turn++ % sizes.length]!;
      pieces.push(text.slice(at, at + size));
      at += size;
    }
    return pieces;
  };
  const calls = (message.tool_calls ?? []).map(({ id, function: called }, index): ChatDelta[] => [
    { tool_calls: [{ index, id, type: 'function', function: { name: called.name, arguments: '' } }] },
    ...cut(called.arguments).map((args) => ({ tool_calls: [{ index, function: { arguments: args } }] })),
  ]);
  const longest = Math.max(0, ...calls.map(({ length }) => length));
  const woven = Array.from({ length: longest }, (_, at) =>
    calls.flatMap((each) => each.slice(at, at + 1)),
  ).flat();
  const deltas: ChatDelta[] = [
    { role: 'assistant', content: '' },
    ...cut(message.reasoning ?? '').map((reasoning) => ({ reasoning, reasoning_content: reasoning })),
    ...cut(message.content ?? '').map((content) => ({ content })),
    ...cut(message.refusal ?? '').map((refusal) => ({ refusal })),
    ...(mixes ? woven : calls.flat()),
  ];
  const head = { id: response.id, object: 'chat.completion.chunk' as const, created: 1, model: 'm' };
  const chunk = (delta: ChatDelta, finish: typeof finish_reason | null = null): ChatChunk => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  return [
    ...deltas.map((delta) => chunk(delta)),
    chunk({}, finish_reason),
    { ...head, choices: [], usage: response.usage },
  ];
}

/** Turns as a client of messages has them; every call is answered in the turn after it. */
const text = words.map((value): Block => ({ type: 'text', text: value }));
const image = fc
  .constantFrom('aGk=', 'AAAA')
  .map((data): Block => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }));
const exchange = fc
  .record({
    asks: fc.array(fc.oneof(text, image), { minLength: 1, maxLength: 3 }),
    says: fc.option(text),
    calls: fc.array(fc.record({ name, input: json, result: fc.option(words), isError: fc.boolean() }), {
      maxLength: 3,
    }),
    closes: words,
  })
  .map(({ asks, says, calls, closes }, at = 0) => ({ asks, says, calls, closes, at }));
const conversations = fc.array(exchange, { minLength: 1, maxLength: 4 }).map((exchanges) =>
  exchanges.flatMap(({ asks, says, calls, closes }, at): MessagesTurn[] => {
    const idOf = (index: number) => `toolu_${at}_${index}`;
    if (calls.length === 0)
      return [
        { role: 'user', content: asks },
        { role: 'assistant', content: closes },
      ];
    const uses = calls.map((call, index): Block => ({
      type: 'tool_use',
      id: idOf(index),
      name: call.name,
      input: call.input,
    }));
    const results = calls.map(({ result, isError }, index): Block => ({
      type: 'tool_result',
      tool_use_id: idOf(index),
      ...(result !== null && { content: result }),
      ...(isError && { is_error: true }),
    }));
    return [
      { role: 'user', content: asks },
      { role: 'assistant', content: [...(says ? [says] : []), ...uses] },
      { role: 'user', content: results },
      { role: 'assistant', content: closes },
    ];
  }),
);

it('a conversation becomes a valid chat without loss', () => {
  fc.assert(
    fc.property(conversations, fc.option(words), (messages, system) => {
      const request: MessagesRequest = { model: 'm', max_tokens: 1, messages, ...(system && { system }) };
      expect(checkMessagesRequest(request)).toEqual([]);
      const { chat } = toChatRequest(request);
      expect(checkChatRequest(chat)).toEqual([]);
      expect(backToMessages(chat.messages)).toEqual({
        system: system ?? undefined,
        messages: normal(messages),
      });
    }),
  );
});

/** The other direction, for this test alone. */
function backToMessages(messages: ChatMessage[]): { system: string | undefined; messages: MessagesTurn[] } {
  const turns: MessagesTurn[] = [];
  let system: string | undefined;
  for (const message of messages) {
    if (message.role === 'system') system = message.content as string;
    else if (message.role === 'tool') {
      const block: Block = {
        type: 'tool_result',
        tool_use_id: message.tool_call_id!,
        content: blocks(message.content),
      };
      const last = turns.at(-1)!;
      if (last.role === 'user') (last.content as Block[]).push(block);
      else turns.push({ role: 'user', content: [block] });
    } else if (message.role === 'user') turns.push({ role: 'user', content: blocks(message.content) });
    else {
      const calls = (message.tool_calls ?? []).map(({ id, function: called }): Block => ({
        type: 'tool_use',
        id,
        name: called.name,
        input: JSON.parse(called.arguments),
      }));
      turns.push({ role: 'assistant', content: [...blocks(message.content), ...calls] });
    }
  }
  return { system, messages: turns };
}

function blocks(content: string | ContentPart[] | null | undefined): Block[] {
  if (content === null || content === undefined || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part): Block => {
    if (part.type === 'text') return { type: 'text', text: part.text! };
    const { url } = part['image_url'] as { url: string };
    const [, media_type, data] = /^data:([^;]*);base64,(.*)$/.exec(url)!;
    return { type: 'image', source: { type: 'base64', media_type: media_type!, data: data! } };
  });
}

/** The same turns in the form that comes back: blocks everywhere, errors as text. */
function normal(turns: MessagesTurn[]): MessagesTurn[] {
  const spelled = (block: Block): Block => {
    if (block.type !== 'tool_result') return block;
    const said = typeof block.content === 'string' ? block.content : '';
    const told = block.is_error ? (said === '' ? 'Error' : `Error: ${said}`) : said;
    return { type: 'tool_result', tool_use_id: block.tool_use_id!, content: blocks(told) };
  };
  return turns.map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? blocks(content) : content.map(spelled),
  }));
}
