import { type Fields, fieldsOf, isObject, stringOr } from '../../../base/fields.ts';
import { parseObject, unusable } from '../connection/parse-body.ts';
import { errorInStream } from '../connection/stream-errors.ts';
import type { NativeFormat } from './native-format.ts';

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
  read,
  /** Every event has an id of its item, which is put in anew: all are read. */
  createReader:
    (context) =>
    ({ event, data }) => {
      const fields = parseObject(data);
      const type = stringOr(fields['type'], event ?? '').replace(partOfThoughts, 'response.content_part.');
      fields['type'] = type;
      // Flat in one family of servers, nested in the other.
      if (type === 'error')
        throw errorInStream({ error: isObject(fields['error']) ? fields['error'] : fields }, context);
      // A sign of life, or what else only its own clients know.
      if (!type.startsWith('response.')) return null;
      const response = fieldsOf(fields['response']);
      if (type === 'response.failed') throw errorInStream(response, context);
      if (type === 'response.completed' || type === 'response.incomplete')
        return { type, data, fields, ends: read(response).usage };
      if (!type.endsWith('.delta')) return { type, data, fields };
      return { type, data, fields, delta: stringOr(fields['delta'], '') };
    },
};

/** What older versions of vLLM call parts of thoughts, with all that parts have: clients throw on a name that they do not know. */
const partOfThoughts = /^response\.reasoning_part\./;

function read({ output, status, usage }: Fields): { usage: Fields; said: string } {
  if (!Array.isArray(output)) throw unusable('is not a response');
  if (status !== 'completed' && status !== 'incomplete') throw unusable('is not finished');
  return { usage: fieldsOf(usage), said: output.map(fieldsOf).map(saidBy).join('') };
}

function saidBy({ arguments: json, input, content, summary }: Fields): string {
  const parts = [summary, content].flatMap((each) => (Array.isArray(each) ? each.map(fieldsOf) : []));
  const texts = parts.map(({ text, refusal }) => stringOr(text ?? refusal, ''));
  return stringOr(json ?? input, '') + texts.join('');
}
