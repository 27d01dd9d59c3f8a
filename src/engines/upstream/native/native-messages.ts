import type { EventSourceMessage } from 'eventsource-parser';
import type { NativeEvent } from '../../engines.ts';
import { tokensOfBytes } from '../../../wire/chat/estimate-prompt.ts';
import { fieldsOf, stringOr } from '../fields.ts';
import type { Fields } from '../fields.ts';
import { chatUsage } from '../messages/read-message.ts';
import { errorInStream } from '../messages/stream-errors.ts';
import { parseObject, unusable } from '../parse-body.ts';
import { readEvents } from '../sse-events.ts';
import { checkedUsage } from '../usage.ts';
import type { NativeFormat, Reading, StreamReading } from './native-format.ts';

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
  usageOf(fields, options) {
    if (!Array.isArray(fields['content'])) throw unusable('is not a message');
    const usage = fieldsOf(fields['usage']);
    return checked(usage, usage['output_tokens'] ? '' : JSON.stringify(fields['content']), options);
  },
  readStream,
};

function checked(usage: Fields, answered: string, { asked, repairs }: Reading) {
  const { usage: found, estimated } = checkedUsage(chatUsage(usage), { asked, answered });
  if (estimated) repairs.add('usage estimated');
  return found;
}

/** The first and the last events tell the usage, those between what is said; all go on as they are. */
async function* readStream(
  bytes: AsyncIterable<Uint8Array>,
  options: StreamReading,
): AsyncGenerator<NativeEvent[]> {
  const usage: Fields = {};
  let isOver = false;
  let isFinished = false;
  let saidBytes = 0;

  function addUsage(told: unknown): void {
    for (const [name, value] of Object.entries(fieldsOf(told))) if (value !== null) usage[name] = value;
  }

  function read({ event = '', data }: EventSourceMessage): NativeEvent {
    if (event === 'error') throw errorInStream(parseObject(data), options.context);
    if (event === 'message_start') {
      addUsage(fieldsOf(parseObject(data)['message'])['usage']);
      return { type: event, data, promptTokens: checked(usage, '', options).prompt_tokens };
    }
    if (event === 'message_delta') {
      const fields = parseObject(data);
      addUsage(fields['usage']);
      isFinished ||= typeof fieldsOf(fields['delta'])['stop_reason'] === 'string';
    }
    if (event === 'content_block_delta') {
      const { text, thinking, partial_json: json } = fieldsOf(parseObject(data)['delta']);
      const said = stringOr(text ?? thinking ?? json, '');
      saidBytes += Buffer.byteLength(said);
      return { type: event, data, said };
    }
    if (event !== 'message_stop') return { type: event, data };
    isOver = true;
    return {
      type: event,
      data,
      usage: checked({ output_tokens: tokensOfBytes(saidBytes), ...usage }, '', options),
    };
  }

  for await (const events of readEvents(bytes)) {
    const ready: NativeEvent[] = [];
    try {
      for (const event of events) {
        ready.push(read(event));
        if (isOver) break;
      }
    } finally {
      // What came before a fault is told before it.
      if (ready.length > 0) yield ready;
    }
    if (!isOver) continue;
    options.finish();
    break;
  }
  if (!isOver || !isFinished) throw unusable('ended in the middle');
}
