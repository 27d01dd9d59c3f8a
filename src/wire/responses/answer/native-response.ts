import { type Fields, isObject } from '../../../base/fields.ts';
import type { ChatUsage } from '../../chat/chat.ts';
import { outputItemId } from '../item-ids.ts';
import { responseUsage } from './response-body.ts';
import type { OutputItem, ResponseBody, ResponseEvent } from '../responses.ts';

/** What an event of a server holds, the last one with the usage of all. */
export interface NativeEvent {
  fields?: Fields;
  usage?: ChatUsage;
}

/**
 * A finished response as its server gave it, but for what is ours: ids, names, what the client said of it, the usage.
 * @param at Unix seconds
 */
export function nativeResponse(
  begun: ResponseBody,
  { fields: given, usage }: Required<NativeEvent>,
  at: number,
): ResponseBody {
  const output = (given['output'] as Fields[]).map((item, place) => ownItem(begun, item, place));
  const isWhole = given['status'] === 'completed';
  return { ...ownBody(begun, given), output, usage: responseUsage(usage), completed_at: isWhole ? at : null };
}

const ours = [
  'id',
  'created_at',
  'background',
  'model',
  'metadata',
  'previous_response_id',
  'store',
  'safety_identifier',
  'prompt_cache_key',
  'service_tier',
  'truncation',
  'max_tool_calls',
] as const;

function ownBody(begun: ResponseBody, given: Fields): ResponseBody {
  const kept = Object.fromEntries(ours.map((name) => [name, begun[name]]));
  return { ...begun, ...given, ...kept };
}

/** References lead to an item by its id. */
function ownItem({ id }: ResponseBody, item: Fields, place: number): OutputItem {
  return { ...item, id: outputItemId(id, String(item['type']), place) } as OutputItem;
}

/** The events of a response as its server tells them, under our ids and numbers. */
export class NativeResponseStream {
  /** How its output came is not kept: told again, it is whole. */
  readonly pieces = null;
  #begun: ResponseBody;
  #items: OutputItem[] = [];
  #next = 0;
  #last: Required<NativeEvent> | undefined;

  constructor(begun: ResponseBody) {
    this.#begun = begun;
  }

  read(events: readonly NativeEvent[]): ResponseEvent[] {
    const told: ResponseEvent[] = [];
    for (const { fields = {}, usage } of events)
      if (usage) this.#last = { fields: fields['response'] as Fields, usage };
      else told.push(this.#own(fields));
    return told;
  }

  /**
   * The end of an answer that is whole: its last event, and the response to be kept before it is sent.
   * @param at Unix seconds
   */
  end(at: number): { body: ResponseBody; events: ResponseEvent[] } {
    const body = nativeResponse(this.#begun, this.#last!, at);
    return { body, events: [this.#numbered({ type: `response.${body.status}`, response: body })] };
  }

  /** What is left of an answer that broke off, or undefined when nothing of it was sent. */
  fail(error: NonNullable<ResponseBody['error']>): ResponseBody | undefined {
    if (this.#next === 0) return undefined;
    const output = this.#items.map((item) =>
      item.status === 'in_progress' ? { ...item, status: 'incomplete' as const } : item,
    );
    return { ...this.#begun, status: 'failed', error, output };
  }

  /** Nobody else has the fields: they are changed in place, since a stream has many. */
  #own(fields: Fields): ResponseEvent {
    const { response, item, item_id: itemId, output_index: place } = fields;
    if (isObject(response)) fields['response'] = ownBody(this.#begun, response);
    else if (typeof place === 'number') {
      if (isObject(item)) fields['item'] = this.#items[place] = ownItem(this.#begun, item, place);
      else if (itemId !== undefined) fields['item_id'] = this.#items[place]?.id ?? itemId;
    }
    return this.#numbered(fields);
  }

  #numbered(fields: Fields): ResponseEvent {
    fields['sequence_number'] = this.#next++;
    return fields as ResponseEvent;
  }
}
