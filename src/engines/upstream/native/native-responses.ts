import { type Fields, fieldsOf, isObject, stringOr } from '../../../base/fields.ts';
import { errorInBody, parseObject, unusable } from '../connection/parse-body.ts';
import type { NativeFormat } from './native-format.ts';

/**
 * Untranslated responses. Offpeak stores them itself, so `store` is false and references to objects at the server are removed
 * (`previous_response_id`, `conversation`, `prompt`), as are members that change the price (`service_tier`) or identify the user.
 */
export const nativeResponses: NativeFormat = {
  path: '/responses',
  members: new Set(
    `model input instructions max_output_tokens temperature top_p top_logprobs stream stream_options store text tools
    tool_choice parallel_tool_calls reasoning include prompt_cache_key prompt_cache_retention`.split(/\s+/),
  ),
  read,
  /** Parses every event, because the id of its item is replaced. */
  createReader:
    (context) =>
    ({ event, data }) => {
      const fields = parseObject(data);
      const type = stringOr(fields['type'], event ?? '').replace(reasoningPart, 'response.content_part.');
      fields['type'] = type;
      // Flat at some servers, nested at others.
      if (type === 'error')
        throw errorInBody({ error: isObject(fields['error']) ? fields['error'] : fields }, context);
      // Keep-alives and private events.
      if (!type.startsWith('response.')) return null;
      const response = fieldsOf(fields['response']);
      if (type === 'response.failed') throw errorInBody(response, context);
      if (type === 'response.completed' || type === 'response.incomplete')
        return { type, data, fields, endUsage: read(response).usage };
      if (!type.endsWith('.delta')) return { type, data, fields };
      return { type, data, fields, delta: stringOr(fields['delta'], '') };
    },
};

/** Name of reasoning parts in older versions of vLLM. Clients throw on unknown names. */
const reasoningPart = /^response\.reasoning_part\./;

function read({ output, status, usage }: Fields): { usage: Fields; generated: string } {
  if (!Array.isArray(output)) throw unusable('is not a response');
  if (status !== 'completed' && status !== 'incomplete') throw unusable('is not finished');
  return { usage: fieldsOf(usage), generated: output.map(fieldsOf).map(textOf).join('') };
}

function textOf({ arguments: json, input, content, summary }: Fields): string {
  const parts = [summary, content].flatMap((each) => (Array.isArray(each) ? each.map(fieldsOf) : []));
  const texts = parts.map(({ text, refusal }) => stringOr(text ?? refusal, ''));
  return stringOr(json ?? input, '') + texts.join('');
}
