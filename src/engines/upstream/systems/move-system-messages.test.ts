import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../wire/chat/chat.ts';
import { moveSystems } from './move-system-messages.ts';

const say = (role: ChatMessage['role'], content: ChatMessage['content']): ChatMessage => ({ role, content });
const [a, b, hi, yo, so] = [
  say('system', 'a'),
  say('developer', 'b'),
  say('user', 'hi'),
  say('user', 'yo'),
  say('assistant', 'so'),
];
const call = { role: 'assistant', content: null, tool_calls: [{ id: 'c' }] } as unknown as ChatMessage;
const result: ChatMessage = { role: 'tool', tool_call_id: 'c', content: '1' };
const short = (messages: ChatMessage[]) =>
  messages.map(({ role, content }) => `${role[0]}:${JSON.stringify(content)}`).join(' ');

describe('moving system messages', () => {
  it.each([
    ['two leading ones', [a, b, hi], 's:"a\\n\\nb" u:"hi"', 's:"a\\n\\nb" u:"hi"', 'u:"a\\n\\nb\\n\\nhi"'],
    ['one behind the user', [a, hi, b], 's:"a" u:"hi\\n\\nb"', 's:"a\\n\\nb" u:"hi"', 'u:"a\\n\\nb\\n\\nhi"'],
    [
      'one before the user',
      [hi, so, b, yo],
      'u:"hi" a:"so" u:"b\\n\\nyo"',
      'd:"b" u:"hi" a:"so" u:"yo"',
      'u:"b\\n\\nhi" a:"so" u:"yo"',
    ],
    [
      'one between two of the user',
      [hi, b, yo],
      'u:"hi\\n\\nb\\n\\nyo"',
      'd:"b" u:"hi" u:"yo"',
      'u:"b\\n\\nhi" u:"yo"',
    ],
    [
      'one behind the assistant',
      [hi, so, b],
      'u:"hi" a:"so" u:"b"',
      'd:"b" u:"hi" a:"so"',
      'u:"b\\n\\nhi" a:"so"',
    ],
    [
      'one between a call and its result',
      [hi, call, b, result, so],
      'u:"hi" a:null t:"1" u:"b" a:"so"',
      'd:"b" u:"hi" a:null t:"1" a:"so"',
      'u:"b\\n\\nhi" a:null t:"1" a:"so"',
    ],
    [
      'one before the assistant',
      [a, so, hi],
      's:"a" a:"so" u:"hi"',
      's:"a" a:"so" u:"hi"',
      'u:"a" a:"so" u:"hi"',
    ],
    ['nothing but such', [a, b], 's:"a\\n\\nb"', 's:"a\\n\\nb"', 'u:"a\\n\\nb"'],
    ['none', [hi, so], 'u:"hi" a:"so"', 'u:"hi" a:"so"', 'u:"hi" a:"so"'],
  ])('%s', (_, messages, first, once, nowhere) => {
    expect(moveSystems(messages, 'anywhere')).toEqual(messages);
    expect(short(moveSystems(messages, 'first'))).toBe(first);
    expect(short(moveSystems(messages, 'once'))).toBe(once);
    expect(short(moveSystems(messages, 'nowhere'))).toBe(nowhere);
  });

  it('keeps parts beside parts', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
    expect(moveSystems([{ ...hi, name: 'Ann', content: [image] }, b], 'first')).toEqual([
      { role: 'user', name: 'Ann', content: [image, { type: 'text', text: 'b' }] },
    ]);
  });

  it('loses no text, and never separates a call from its result', () => {
    const one = fc.constantFrom(a, b, hi, yo, so);
    const conversation = fc
      .array(
        fc.oneof(
          one.map((message) => [message]),
          fc.constant([call, result]),
        ),
      )
      .map((turns) =>
        turns.flat().map((message, n) => (message.content ? { ...message, content: `${n}.` } : message)),
      );
    const words = (messages: ChatMessage[]) =>
      messages
        .flatMap(({ content }) => (typeof content === 'string' ? content.split('\n\n') : []))
        .toSorted();
    fc.assert(
      fc.property(conversation, fc.constantFrom('first', 'once', 'nowhere'), (messages, place) => {
        const moved = moveSystems(messages, place);
        expect(words(moved)).toEqual(words(messages));
        const systems = moved.map(({ role }) => role === 'system' || role === 'developer');
        expect(systems.slice(place === 'nowhere' ? 0 : 1)).not.toContain(true);
        for (const [at, { role }] of moved.entries()) if (role === 'tool') expect(moved[at - 1]).toBe(call);
        expect(moveSystems(moved, place)).toEqual(moved);
      }),
    );
  });
});
