import { estimateText, tokensOfBytes } from '../../../wire/chat/request/estimate-prompt.ts';
import { type Fields, fieldsOf, stringOr } from '../../../base/fields.ts';
import { chatUsage } from '../messages/read-message.ts';
import { parseObject, unusable } from '../answer/parse-body.ts';
import { checkedUsage } from '../answer/usage.ts';
import { errorInStream } from '../answer/stream-errors.ts';
import type { NativeFormat, NativeReader, StreamReading } from './native-format.ts';

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
  usageOf(message, options) {
    if (!Array.isArray(message['content'])) throw unusable('is not a message');
    const answered = () => estimateText(JSON.stringify(message['content']));
    return checkedUsage(chatUsage(fieldsOf(message['usage'])), { ...options, answered });
  },
  createReader,
};

/** The first and the last events tell the usage, those between what is said; all go on as they are. */
function createReader(options: StreamReading): NativeReader {
  const usage: Fields = {};
  let isFinished = false;
  let saidBytes = 0;

  function addUsage(told: unknown): void {
    for (const [name, value] of Object.entries(fieldsOf(told))) if (value !== null) usage[name] = value;
  }

  return {
    read({ event: type = '', data }) {
      if (type === 'error') throw errorInStream(parseObject(data), options.context);
      if (type === 'message_start') {
        const fields = parseObject(data);
        addUsage(fieldsOf(fields['message'])['usage']);
        const atFirst = { ...options, answered: () => 0, known: undefined };
        const { prompt_tokens: promptTokens } = checkedUsage(chatUsage(usage), atFirst);
        return { type, data, fields, promptTokens };
      }
      if (type === 'message_delta') {
        const fields = parseObject(data);
        addUsage(fields['usage']);
        isFinished ||= typeof fieldsOf(fields['delta'])['stop_reason'] === 'string';
      }
      if (type === 'content_block_delta') {
        const { text, thinking, partial_json: json } = fieldsOf(parseObject(data)['delta']);
        const said = stringOr(text ?? thinking ?? json, '');
        saidBytes += Buffer.byteLength(said);
        return { type, data, said };
      }
      if (type !== 'message_stop') return { type, data };
      if (!isFinished) throw unusable('ended in the middle');
      const answered = () => tokensOfBytes(saidBytes);
      return { type, data, usage: checkedUsage(chatUsage(usage), { ...options, answered }) };
    },
  };
}
