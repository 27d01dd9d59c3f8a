import { type Fields, isObject } from '../../../base/fields.ts';
import { words } from '../../../base/words.ts';
import type { ChatUsage } from '../../chat/chat.ts';
import { outputItemId } from '../item-ids.ts';
import { responseUsage } from './response-body.ts';
import type { OutputItem, ResponseBody, ResponseEvent } from '../responses.ts';

/** Event of a server that supports responses; the last one has the usage. */
export interface NativeEvent {
  fields?: Fields;
  usage?: ChatUsage;
}

/** Replaces ids, names, usage and the client's settings in a finished response of a server. @param at Unix seconds */
export function nativeResponse(
  begun: ResponseBody,
  { fields: given, usage }: Required<NativeEvent>,
  at: number,
): ResponseBody {
  const output = (given['output'] as Fields[]).map((item, index) => ownItem(begun, item, index));
  const isWhole = given['status'] === 'completed';
  return { ...ownBody(begun, given), output, usage: responseUsage(usage), completed_at: isWhole ? at : null };
}

const ownFields = [
  ...words('id created_at background model metadata previous_response_id store safety_identifier'),
  ...words('prompt_cache_key service_tier truncation max_tool_calls'),
];

function ownBody(begun: ResponseBody, given: Fields): ResponseBody {
  return { ...begun, ...given, ...Object.fromEntries(ownFields.map((name) => [name, begun[name]])) };
}

/** Gives an item an id of ours, so that references find it. */
function ownItem({ id }: ResponseBody, item: Fields, index: number): OutputItem {
  return { ...item, id: outputItemId(id, String(item['type']), index) } as OutputItem;
}

/** Relays the events of a server under our ids and sequence numbers. */
export class NativeResponseStream {
  /** Not recorded: a replay sends whole items. */
  readonly pieces = null;
  #begun: ResponseBody;
  #items: OutputItem[] = [];
  #next = 0;
  #last: Required<NativeEvent> | undefined;

  constructor(begun: ResponseBody) {
    this.#begun = begun;
  }

  read(events: readonly NativeEvent[]): ResponseEvent[] {
    const relayed: ResponseEvent[] = [];
    for (const { fields = {}, usage } of events)
      if (usage) this.#last = { fields: fields['response'] as Fields, usage };
      else relayed.push(this.#own(fields));
    return relayed;
  }

  /** Last event of a complete answer, and the response to store before it is sent. @param at Unix seconds */
  end(at: number): { body: ResponseBody; events: ResponseEvent[] } {
    const body = nativeResponse(this.#begun, this.#last!, at);
    return { body, events: [this.#numbered({ type: `response.${body.status}`, response: body })] };
  }

  /** Response of a failed stream; undefined if nothing of it was sent. */
  fail(error: NonNullable<ResponseBody['error']>): ResponseBody | undefined {
    if (this.#next === 0) return undefined;
    const output = this.#items.map((item) =>
      item.status === 'in_progress' ? { ...item, status: 'incomplete' as const } : item,
    );
    return { ...this.#begun, status: 'failed', error, output };
  }

  /** Changes the fields in place, because a stream has many events and nothing else uses them. */
  #own(fields: Fields): ResponseEvent {
    const { response, item, item_id: itemId, output_index: index } = fields;
    if (isObject(response)) fields['response'] = ownBody(this.#begun, response);
    else if (typeof index === 'number') {
      if (isObject(item)) fields['item'] = this.#items[index] = ownItem(this.#begun, item, index);
      else if (itemId !== undefined) fields['item_id'] = this.#items[index]?.id ?? itemId;
    }
    return this.#numbered(fields);
  }

  #numbered(fields: Fields): ResponseEvent {
    fields['sequence_number'] = this.#next++;
    return fields as ResponseEvent;
  }
}
