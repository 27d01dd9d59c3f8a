import { addsTools } from './client-tools.ts';
import { inputItemId } from './item-ids.ts';
import type { InputItem, InputPart, ResponsesRequest, StoredItem } from './responses.ts';

/** The input of a request as items with a type and an id, as they are stored and listed. References stay as they are. */
export function storedItems(input: ResponsesRequest['input'], responseId: string): StoredItem[] {
  const items: InputItem[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  return items.map((item, place) => {
    const type = typeOf(item);
    const id = item.id || inputItemId(responseId, type, place);
    if (type === 'message')
      return { ...item, type, id, status: item['status'] ?? 'completed', content: partsOf(item) };
    return { ...item, type, id };
  });
}

/** The items of an input that bring tools, each with its place. */
export function itemsWithTools({
  input,
}: Pick<ResponsesRequest, 'input'>): { item: InputItem; path: string }[] {
  const found: { item: InputItem; path: string }[] = [];
  if (typeof input === 'string') return found;
  for (let index = 0; index < input.length; index++)
    if (addsTools(input[index]!)) found.push({ item: input[index]!, path: pathOfItem(input, index) });
  return found;
}

/** Where an item stands in a request. */
export function pathOfItem(input: ResponsesRequest['input'], index: number): string {
  return typeof input === 'string' ? 'input' : `input[${index}]`;
}

function typeOf(item: Pick<InputItem, 'type' | 'role'>): string {
  if (typeof item.type === 'string') return item.type;
  return item.role === undefined ? 'item_reference' : 'message';
}

/** Whether an item only names another one. Without a type it is that, unless it has a role. */
export function isReference(item: Pick<InputItem, 'type' | 'role'>): boolean {
  return typeOf(item) === 'item_reference';
}

function partsOf({ role, content }: InputItem): InputPart[] {
  if (Array.isArray(content)) return content;
  return [{ type: role === 'assistant' ? 'output_text' : 'input_text', text: content ?? '' }];
}
