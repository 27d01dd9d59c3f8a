import type { EventSourceMessage } from 'eventsource-parser';
import type { ChatChunk, ChatChunks, ChatDelta } from '../../../wire/chat/chat.ts';
import { spoken } from '../../../wire/chat/answer/spoken.ts';
import type { ChatStreamOptions } from '../answer/chat-stream.ts';
import { type Fields, fieldsOf, isObject, stringOr } from '../../../base/fields.ts';
import { finishReason, stopReason } from '../answer/finish-reason.ts';
import { parseObject, unusable } from '../answer/parse-body.ts';
import { unicode } from '../answer/repairs.ts';
import { readEvents } from '../answer/sse-events.ts';
import { checkedUsage } from '../answer/usage.ts';
import { chatUsage, ending, refusalOf } from './read-message.ts';
import { errorInStream } from '../answer/stream-errors.ts';

/**
 * The events of a streamed message as chunks of a chat completion, the usage by itself at the end.
 * @throws ApiError `invalid_upstream_response` when the stream ends before the message did; for an error inside the stream
 * what its type means
 */
export async function* readMessageStream(
  bytes: AsyncIterable<Uint8Array>,
  options: ChatStreamOptions,
): ChatChunks {
  const reader = createReader(options);
  for await (const events of readEvents(bytes)) {
    const chunks: ChatChunk[] = [];
    try {
      for (const event of events) {
        const chunk = reader.read(event);
        if (chunk) chunks.push(chunk);
        if (reader.isOver) break;
      }
    } finally {
      // What came before a fault is told before it.
      if (chunks.length > 0) yield chunks;
    }
    if (!reader.isOver) continue;
    options.finish();
    break;
  }
  yield [reader.end()];
}

function createReader({ asked, newCallId, repairs, context }: ChatStreamOptions) {
  const head = { id: '', object: 'chat.completion.chunk' as const, created: 0, model: '' };
  /** The place among the calls of the block that is open, and whether its input has begun. */
  let call: { index: number; hasInput: boolean } | null = null;
  let calls = 0;
  let usage: Fields = {};
  let answered = '';
  let hasBegun = false;
  let isFinished = false;
  let isOver = false;

  const chunk = (delta: ChatDelta, end: Partial<ChatChunk['choices'][number]> = {}): ChatChunk => {
    answered += spoken(delta);
    return {
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...end }],
      usage: null,
    };
  };

  /** A figure that is not told again stays what it was. */
  function addUsage(told: unknown): void {
    for (const [name, value] of Object.entries(fieldsOf(told))) if (value !== null) usage[name] = value;
  }

  const readers: Record<string, (event: Fields) => ChatChunk | null> = {
    message_start({ message }) {
      const begun = fieldsOf(message);
      head.id = stringOr(begun['id'], '');
      head.model = stringOr(begun['model'], '');
      addUsage(begun['usage']);
      hasBegun = true;
      return chunk({ role: 'assistant', content: '' });
    },
    content_block_start({ content_block: block }) {
      const { type, id, name, text } = fieldsOf(block);
      call = null;
      if (type === 'text' && typeof text === 'string' && text !== '')
        return chunk({ content: unicode(text, repairs) });
      if (type !== 'tool_use') return null;
      if (typeof name !== 'string' || name === '') throw unusable('calls a tool without a name');
      call = { index: calls++, hasInput: false };
      const given = { id: stringOr(id, '') || newCallId(), type: 'function' as const };
      return chunk({ tool_calls: [{ index: call.index, ...given, function: { name, arguments: '' } }] });
    },
    content_block_delta({ delta }) {
      const { type, text, thinking, partial_json: json } = fieldsOf(delta);
      if (type === 'text_delta') return chunk({ content: unicode(stringOr(text, ''), repairs) });
      if (type === 'thinking_delta') {
        const reasoning = unicode(stringOr(thinking, ''), repairs);
        return reasoning === '' ? null : chunk({ reasoning, reasoning_content: reasoning });
      }
      if (type !== 'input_json_delta' || !call || typeof json !== 'string' || json === '') return null;
      call.hasInput = true;
      return chunk({ tool_calls: [{ index: call.index, function: { arguments: unicode(json, repairs) } }] });
    },
    content_block_stop() {
      const closed = call;
      call = null;
      if (!closed || closed.hasInput) return null;
      // A tool that takes nothing is called with nothing, and chat clients read JSON there.
      return chunk({ tool_calls: [{ index: closed.index, function: { arguments: '{}' } }] });
    },
    message_delta({ delta, usage: told }) {
      addUsage(told);
      const fields = fieldsOf(delta);
      const end = ending(fields);
      if (typeof end['finish_reason'] !== 'string') return null;
      isFinished = true;
      const finish = { finish_reason: finishReason(end['finish_reason'], calls > 0), ...stopReason(end, {}) };
      return chunk(answered === '' ? refusalOf(fields) : {}, finish);
    },
    message_stop() {
      isOver = true;
      return null;
    },
    error({ error }) {
      throw errorInStream({ error }, context);
    },
  };

  return {
    get isOver() {
      return isOver;
    },
    /** What one event brings; those of other types, such as `ping`, bring nothing. */
    read({ data, event }: EventSourceMessage): ChatChunk | null {
      const fields = parseObject(data);
      const type = stringOr(fields['type'], event ?? '');
      return isObject(fields['error']) ? readers['error']!(fields) : (readers[type]?.(fields) ?? null);
    },
    end(): ChatChunk {
      if (!hasBegun) throw unusable('is a stream without an answer');
      if (!isFinished) throw unusable('ended in the middle');
      const checked = checkedUsage(chatUsage(usage), { asked, answered });
      if (checked.estimated) repairs.add('usage estimated');
      return { ...head, choices: [], usage: checked.usage };
    },
  };
}
