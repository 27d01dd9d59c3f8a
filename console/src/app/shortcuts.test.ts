import { expect, it } from 'vitest';
import { shortcutOf } from './shortcuts.ts';

const press = (key: string, more = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, ...more });

it.each([
  [press('k', { ctrlKey: true }), false, 'palette'],
  [press('K', { metaKey: true }), true, 'palette'],
  [press('?'), false, 'help'],
  [press('/'), false, 'search'],
  [press('p'), false, 'pause'],
  [press('p'), true, undefined],
  [press('j'), false, 'rows'],
  [press('k'), false, 'rows'],
  [press('?'), true, undefined],
  [press('/'), true, undefined],
  [press('j'), true, undefined],
  [press('j', { ctrlKey: true }), false, undefined],
  [press('k', { ctrlKey: true, altKey: true }), false, undefined],
  [press('x'), false, undefined],
])('%j, typing: %s, is %s', (event, isTyping, expected) => {
  expect(shortcutOf(event, isTyping)).toBe(expected);
});
