import type { EventSourceMessage } from 'eventsource-parser';
import { type Fields, fieldsOf, isObject, stringOr } from '../../../base/fields.ts';
import { errorInBody, parseObject, unusable } from '../connection/parse-body.ts';
import type { RefusalContext } from '../connection/status-errors.ts';
import { ending, mergeUsage, refusalOf } from './read-message.ts';

/** Converts the events of one streamed message, in order, to chunks of a chat completion. Other types, such as `ping`, are skipped. */
export function messageChunks(context: RefusalContext): (event: EventSourceMessage) => Fields | null {
  /** Open block of a call: its index, and whether its input has begun. */
  let call: { index: number; hasInput: boolean } | null = null;
  let calls = 0;
  let hasBegun = false;
  let hasOutput = false;
  const usage: Fields = {};

  function chunk(delta: Fields, end: Fields = {}): Fields {
    if (!hasBegun) throw unusable('is a stream without a message');
    hasOutput ||= Object.values(delta).some((value) => value !== '' && value !== 'assistant');
    return { choices: [{ delta, ...end }] };
  }

  const readers: Record<string, (event: Fields) => Fields | null> = {
    message_start({ message }) {
      const { id, model, usage: reported } = fieldsOf(message);
      mergeUsage(usage, reported);
      hasBegun = true;
      return { id, model, ...chunk({ role: 'assistant', content: '' }) };
    },
    content_block_start({ content_block: block }) {
      const { type, id, name, text } = fieldsOf(block);
      call = null;
      if (type === 'text' && typeof text === 'string' && text !== '') return chunk({ content: text });
      if (type !== 'tool_use') return null;
      call = { index: calls++, hasInput: false };
      return chunk({ tool_calls: [{ index: call.index, id, function: { name } }] });
    },
    content_block_delta({ delta }) {
      const { type, text, thinking, partial_json: json } = fieldsOf(delta);
      if (type === 'text_delta') return chunk({ content: stringOr(text, '') });
      if (type === 'thinking_delta') return thinking ? chunk({ reasoning: thinking }) : null;
      if (type !== 'input_json_delta' || !call || typeof json !== 'string' || json === '') return null;
      call.hasInput = true;
      return chunk({ tool_calls: [{ index: call.index, function: { arguments: json } }] });
    },
    content_block_stop() {
      const closed = call;
      call = null;
      if (!closed || closed.hasInput) return null;
      // A call without input has no deltas, but chat clients expect JSON.
      return chunk({ tool_calls: [{ index: closed.index, function: { arguments: '{}' } }] });
    },
    message_delta({ delta, usage: reported }) {
      mergeUsage(usage, reported);
      const fields = fieldsOf(delta);
      const end = ending(fields);
      if (typeof end['finish_reason'] !== 'string') return null;
      return { ...chunk(hasOutput ? {} : refusalOf(fields), end), usage: { ...usage } };
    },
    message_stop: () => ({ usage: { ...usage } }),
    error({ error }) {
      throw errorInBody({ error }, context);
    },
  };

  return ({ data, event }) => {
    const fields = parseObject(data);
    const type = isObject(fields['error']) ? 'error' : stringOr(fields['type'], event ?? '');
    return readers[type]?.(fields) ?? null;
  };
}
