import { type Fields, fieldsOf, stringOr } from '../../../base/fields.ts';
import { editMembers } from '../../../wire/json/edit-members.ts';
import { mergeUsage } from '../messages/read-message.ts';
import { requireNotAborted } from '../answer/finish-reason.ts';
import { errorInBody, parseObject, unusable } from '../connection/parse-body.ts';
import { betasOf } from './anthropic-betas.ts';
import type { NativeFormat } from './native-format.ts';

/**
 * Untranslated messages. Members that change the price (`service_tier`, `speed`), reach other hosts (`mcp_servers`), share state
 * (`container`) or identify the user are removed.
 */
export const nativeMessages: NativeFormat = {
  path: '/messages',
  members: new Set(
    `model messages max_tokens system stop_sequences stream temperature top_p top_k tools tool_choice thinking
    output_config output_format cache_control context_management`.split(/\s+/),
  ),
  betas: betasOf,
  read({ content, usage, stop_reason: reason }) {
    if (!Array.isArray(content)) throw unusable('is not a message');
    requireNotAborted(reason);
    const texts = content.map(fieldsOf).map(({ text, thinking, input }) => {
      return stringOr(text ?? thinking, input === undefined ? '' : JSON.stringify(input));
    });
    return { usage: fieldsOf(usage), generated: texts.join('') };
  },
  corrected: (answer, text) =>
    isAtStop(answer) ? editMembers(text, new Map([['stop_reason', '"stop_sequence"']])) : text,
  /** Passes events on unchanged; the first and the last ones carry the usage. */
  createReader(context) {
    const usage: Fields = {};
    let isFinished = false;
    return ({ event: type = '', data }) => {
      if (type === 'error') throw errorInBody(parseObject(data), context);
      if (type === 'message_start') {
        const fields = parseObject(data);
        mergeUsage(usage, fieldsOf(fields['message'])['usage']);
        return { type, data, fields, startUsage: { ...usage } };
      }
      if (type === 'message_delta') {
        const fields = parseObject(data);
        mergeUsage(usage, fields['usage']);
        const delta = fieldsOf(fields['delta']);
        requireNotAborted(delta['stop_reason']);
        isFinished ||= typeof delta['stop_reason'] === 'string';
        if (isAtStop(delta)) {
          const corrected = { ...fields, delta: { ...delta, stop_reason: 'stop_sequence' } };
          return { type, data: JSON.stringify(corrected) };
        }
      }
      if (type === 'content_block_delta') {
        const { text, thinking, partial_json: json } = fieldsOf(parseObject(data)['delta']);
        return { type, data, delta: stringOr(text ?? thinking ?? json, '') };
      }
      if (type !== 'message_stop') return { type, data };
      if (!isFinished) throw unusable('ended early');
      return { type, data, endUsage: { ...usage } };
    };
  },
};

/** True where llama-server names the stop sequence but reports the end of the turn. */
function isAtStop({ stop_reason: reason, stop_sequence: sequence }: Fields): boolean {
  return reason === 'end_turn' && typeof sequence === 'string' && sequence !== '';
}
