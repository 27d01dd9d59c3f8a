import { addsTools } from './client-tools.ts';
import { inputItemId } from './item-ids.ts';
import type { InputItem, InputPart, ResponsesRequest, StoredItem } from './responses.ts';

/** Input of a request as items with type and id. References stay unchanged. */
export function storedItems(input: ResponsesRequest['input'], responseId: string): StoredItem[] {
  const items: InputItem[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  return items.map((item, index) => {
    const type = typeOf(item);
    const id = item.id || inputItemId(responseId, type, index);
    if (type === 'message')
      return { ...item, type, id, status: item['status'] ?? 'completed', content: partsOf(item) };
    return { ...item, type, id };
  });
}

/** Items of an input that add tools, with their paths. */
export function itemsWithTools({
  input,
}: Pick<ResponsesRequest, 'input'>): { item: InputItem; path: string }[] {
  const found: { item: InputItem; path: string }[] = [];
  if (typeof input === 'string') return found;
  for (let index = 0; index < input.length; index++)
    if (addsTools(input[index]!)) found.push({ item: input[index]!, path: pathOfItem(input, index) });
  return found;
}

export function pathOfItem(input: ResponsesRequest['input'], index: number): string {
  return typeof input === 'string' ? 'input' : `input[${index}]`;
}

function typeOf(item: Pick<InputItem, 'type' | 'role'>): string {
  if (typeof item.type === 'string') return item.type;
  return item.role === undefined ? 'item_reference' : 'message';
}

/** True for an item that only refers to another one. Untyped items without a role do. */
export function isReference(item: Pick<InputItem, 'type' | 'role'>): boolean {
  return typeOf(item) === 'item_reference';
}

function partsOf({ role, content }: InputItem): InputPart[] {
  if (Array.isArray(content)) return content;
  return [{ type: role === 'assistant' ? 'output_text' : 'input_text', text: content ?? '' }];
}
