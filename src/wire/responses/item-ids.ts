import type { StoredItem } from './responses.ts';

/**
 * Ids of items hold the id of their response and their place, so that a reference to an item leads to it without an index:
 * `msg_<the 32 digits of resp_...><place, 4 digits>`. Places of inputs begin at `firstInput`.
 */
const firstInput = 0x8000;
const pattern = /^[a-z]+_([0-9a-f]{32})[0-9a-f]{4}$/;

const prefixes: Record<string, string> = {
  message: 'msg_',
  function_call: 'fc_',
  function_call_output: 'fco_',
  reasoning: 'rs_',
};

export function outputItemId(responseId: string, type: string, place: number): string {
  return idOf(responseId, type, place);
}

export function inputItemId(responseId: string, type: string, place: number): string {
  return idOf(responseId, type, firstInput + place);
}

function idOf(responseId: string, type: string, place: number): string {
  const digits = responseId.slice('resp_'.length);
  return `${prefixes[type] ?? 'item_'}${digits}${place.toString(16).padStart(4, '0')}`;
}

/** The id of the response an item belongs to, or undefined for an id that is none of ours. */
export function responseOfItem(id: string): string | undefined {
  const digits = pattern.exec(id)?.[1];
  return digits === undefined ? undefined : `resp_${digits}`;
}

export function findItem(items: readonly StoredItem[], id: string): StoredItem | undefined {
  return items.find((item) => item.id === id);
}
