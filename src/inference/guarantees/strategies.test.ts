import { expect, it } from 'vitest';
import type { ChatMessage } from '../../wire/chat/chat.ts';
import { withSystemLine } from './strategies.ts';

const user: ChatMessage = { role: 'user', content: 'hi' };

it.each([
  ['a message of its own', [user], { role: 'system', content: 'line' }],
  ['the system message', [{ role: 'system', content: 'be kind' }, user], { content: 'be kind\n\nline' }],
  ['an empty one', [{ role: 'system', content: '' }, user], { content: 'line' }],
  [
    'that of a developer',
    [{ role: 'developer', content: 'a', name: 'x' }, user],
    { content: 'a\n\nline', name: 'x' },
  ],
  [
    'one in parts',
    [{ role: 'system', content: [{ type: 'text', text: 'a' }] }, user],
    { content: [{ type: 'text', text: 'a' }, { text: '\n\nline' }] },
  ],
] as [string, ChatMessage[], object][])('becomes or ends %s', (_what, messages, first) => {
  const before = structuredClone(messages);
  const said = withSystemLine(messages, 'line');
  expect(said[0]).toMatchObject(first);
  expect(said.at(-1)).toBe(user);
  expect(said.filter(({ role }) => role !== 'user')).toHaveLength(1);
  expect(messages).toEqual(before);
});
