import { estimateText, tokensOfBytes } from '../../../wire/chat/request/estimate-prompt.ts';
import { type Fields, fieldsOf, isObject, stringOr } from '../../../base/fields.ts';
import { parseObject, unusable } from '../answer/parse-body.ts';
import type { ChatUsage } from '../../../wire/chat/chat.ts';
import { checkedUsage } from '../answer/usage.ts';
import { errorInStream } from '../answer/stream-errors.ts';
import type { NativeFormat, NativeReader, Reading, StreamReading } from './native-format.ts';

/**
 * Responses as their clients wrote them. What is stored is stored here, and so `store` says no and nothing refers to what the
 * server might have (`previous_response_id`, `conversation`, `prompt`). What would cost more than the model's price says
 * (`service_tier`) and who the user is stay behind.
 */
export const nativeResponses: NativeFormat = {
  path: '/responses',
  members: new Set(
    `model input instructions max_output_tokens temperature top_p top_logprobs stream stream_options store text tools
    tool_choice parallel_tool_calls reasoning include prompt_cache_key prompt_cache_retention`.split(/\s+/),
  ),
  usageOf(response, options) {
    return usageIn(response, options, () => estimateText(JSON.stringify(response['output'])));
  },
  createReader,
};

function usageIn(response: Fields, options: Reading, answered: () => number): ChatUsage {
  const { output, status, usage } = response;
  if (!Array.isArray(output)) throw unusable('is not a response');
  if (status !== 'completed' && status !== 'incomplete') throw unusable('is not finished');
  return checkedUsage(chatUsage(fieldsOf(usage)), { ...options, answered });
}

function chatUsage(usage: Fields): Fields {
  const { cached_tokens } = fieldsOf(usage['input_tokens_details']);
  const { reasoning_tokens } = fieldsOf(usage['output_tokens_details']);
  return {
    prompt_tokens: usage['input_tokens'],
    completion_tokens: usage['output_tokens'],
    prompt_tokens_details: { cached_tokens },
    completion_tokens_details: { reasoning_tokens },
  };
}

/** Every event has an id of its item, which is put in anew: all are read. */
function createReader(options: StreamReading): NativeReader {
  let saidBytes = 0;
  return {
    read({ event, data }) {
      const fields = parseObject(data);
      const type = stringOr(fields['type'], event ?? '');
      // Flat in one family of servers, nested in the other.
      if (type === 'error')
        throw errorInStream({ error: isObject(fields['error']) ? fields['error'] : fields }, options.context);
      const response = fieldsOf(fields['response']);
      if (type === 'response.failed') throw errorInStream(response, options.context);
      if (type === 'response.completed' || type === 'response.incomplete') {
        const usage = usageIn(response, options, () => tokensOfBytes(saidBytes));
        return { type, data, fields, usage };
      }
      if (!type.endsWith('.delta')) return { type, data, fields };
      const said = stringOr(fields['delta'], '');
      saidBytes += Buffer.byteLength(said);
      return { type, data, fields, said };
    },
  };
}
