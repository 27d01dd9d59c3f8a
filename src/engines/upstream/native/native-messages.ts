import { type Fields, fieldsOf, stringOr } from '../../../base/fields.ts';
import { editMembers } from '../../../wire/json/edit-members.ts';
import { addUsage } from '../messages/read-message.ts';
import { requireUnbroken } from '../answer/finish-reason.ts';
import { parseObject, unusable } from '../connection/parse-body.ts';
import { errorInStream } from '../connection/stream-errors.ts';
import { betasOf } from './anthropic-betas.ts';
import type { NativeFormat } from './native-format.ts';

/**
 * Messages as their clients wrote them. What would cost more than the model's price says (`service_tier`, `speed`), reach
 * elsewhere (`mcp_servers`), or into what others left there (`container`) stays behind, and so does who the user is.
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
    requireUnbroken(reason);
    const said = content.map(fieldsOf).map(({ text, thinking, input }) => {
      return stringOr(text ?? thinking, input === undefined ? '' : JSON.stringify(input));
    });
    return { usage: fieldsOf(usage), said: said.join('') };
  },
  corrected: (answer, text) =>
    isAtStop(answer) ? editMembers(text, new Map([['stop_reason', '"stop_sequence"']])) : text,
  /** The first and the last events tell the usage, those between what is said; all go on as they are. */
  createReader(context) {
    const usage: Fields = {};
    let isFinished = false;
    return ({ event: type = '', data }) => {
      if (type === 'error') throw errorInStream(parseObject(data), context);
      if (type === 'message_start') {
        const fields = parseObject(data);
        addUsage(usage, fieldsOf(fields['message'])['usage']);
        return { type, data, fields, begins: { ...usage } };
      }
      if (type === 'message_delta') {
        const fields = parseObject(data);
        addUsage(usage, fields['usage']);
        const delta = fieldsOf(fields['delta']);
        requireUnbroken(delta['stop_reason']);
        isFinished ||= typeof delta['stop_reason'] === 'string';
        if (isAtStop(delta)) {
          const mended = { ...fields, delta: { ...delta, stop_reason: 'stop_sequence' } };
          return { type, data: JSON.stringify(mended) };
        }
      }
      if (type === 'content_block_delta') {
        const { text, thinking, partial_json: json } = fieldsOf(parseObject(data)['delta']);
        return { type, data, delta: stringOr(text ?? thinking ?? json, '') };
      }
      if (type !== 'message_stop') return { type, data };
      if (!isFinished) throw unusable('ended in the middle');
      return { type, data, ends: { ...usage } };
    };
  },
};

/** llama-server names the stop sequence that it met, and reports the end of the turn all the same. */
function isAtStop({ stop_reason: reason, stop_sequence: met }: Fields): boolean {
  return reason === 'end_turn' && typeof met === 'string' && met !== '';
}
