import { expect, test } from 'vitest';
import { inputItemId, itemOrigin, outputItemId } from './item-ids.ts';

const response = `resp_${'0123456789abcdef'.repeat(2)}`;

test('an id leads to the response and side of its item', () => {
  expect(itemOrigin(outputItemId(response, 'message', 3))).toEqual({ response, side: 'output' });
  expect(itemOrigin(inputItemId(response, 'reasoning', 3))).toEqual({ response, side: 'input' });
});

test('an unknown type gets an id like any other', () => {
  for (const type of ['strange', 'constructor', 'toString']) {
    const id = outputItemId(response, type, 0);
    expect(id).toMatch(/^item_[0-9a-f]{36}$/);
    expect(itemOrigin(id)).toBeDefined();
  }
});

test('a foreign id leads nowhere', () => {
  const digits = '0'.repeat(36);
  for (const id of ['', '\0', 'msg_1', `${'a'.repeat(9)}_${digits}`, `msg_${digits}\0`, `msg_${digits}\n`])
    expect(itemOrigin(id), JSON.stringify(id)).toBeUndefined();
});
