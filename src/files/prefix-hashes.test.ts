import { describe, expect, it } from 'vitest';
import type { BatchEndpoint } from '../core/batch.ts';
import { lineFormats } from '../wire/batch/line-formats.ts';
import type { ChatMessage, ChatRequest, Tool } from '../wire/chat/chat.ts';
import { prefixHashes, prefixLevels } from './prefix-hashes.ts';

const text = (length: number, seed: string) => seed.repeat(Math.ceil(length / seed.length)).slice(0, length);
const hashes = (messages: ChatMessage[], tools?: Tool[]): number[] => [
  ...prefixHashes({ messages, ...(tools && { tools }) }),
];
const asked = (system: string, user: string): number[] =>
  hashes([
    { role: 'system', content: system },
    { role: 'user', content: user },
  ]);
/** Number of levels that two prompts share. */
const shared = (a: number[], b: number[]): number => {
  const differs = a.findIndex((hash, level) => hash === 0 || hash !== b[level]);
  return differs < 0 ? prefixLevels : differs;
};

describe('prefix hashes', () => {
  it('are 0 where the prompt is shorter', () => {
    expect(asked('', 'hi')).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    const levels = asked(text(3_000, 'abc '), 'hi').map((hash) => hash > 0);
    expect(levels).toEqual([true, true, true, true, false, false, false, false]);
    expect(asked(text(40_000, 'abc '), 'hi').every((hash) => hash > 0)).toBe(true);
  });

  it('are the same for the same prompt', () => {
    const system = text(5_000, 'be kind, ');
    expect(asked(system, 'hello')).toEqual(asked(system, 'hello'));
  });

  it('agree up to the last cut inside what two prompts share', () => {
    const user = text(9_000, 'question ');
    for (const length of [300, 700, 1_500, 3_000, 5_000]) {
      const system = text(length, 'be kind, ');
      const a = asked(system, `1${user}`);
      const b = asked(system, `2${user}`);
      // The cut behind the system message moves back to its end, so that level is shared too.
      const level = Math.ceil(Math.log2((length + 8) / 256)) + 1;
      expect([length, shared(a, b)]).toEqual([length, level]);
    }
  });

  it('differ from the first level on when the beginnings differ', () => {
    const system = text(3_000, 'be kind, ');
    expect(shared(asked(`A${system}`, 'x'), asked(`B${system}`, 'x'))).toBe(0);
  });

  it('tell roles, message borders and tools apart', () => {
    const long = text(600, 'word ');
    const one = hashes([{ role: 'user', content: `${long}${long}` }]);
    const two = hashes([
      { role: 'user', content: long },
      { role: 'user', content: long },
    ]);
    const system = hashes([{ role: 'system', content: `${long}${long}` }]);
    const tools = hashes(
      [{ role: 'user', content: `${long}${long}` }],
      [{ type: 'function', function: { name: 'f' } }],
    );
    expect(new Set([one, two, system, tools].map((levels) => levels[2])).size).toBe(4);
  });

  it('see one changed byte anywhere before the cut', () => {
    const prompt = text(300, 'some words ');
    const base = hashes([{ role: 'user', content: prompt }]);
    for (let at = 0; at < 240; at += 1) {
      const changed = `${prompt.slice(0, at)}#${prompt.slice(at + 1)}`;
      expect(hashes([{ role: 'user', content: changed }])[0], `byte ${at}`).not.toBe(base[0]);
    }
  });

  it('read parts, tool calls and characters of any width', () => {
    const wide = hashes([{ role: 'user', content: text(40_000, '日本😀 ') }]);
    expect(wide.every((hash) => hash > 0)).toBe(true);
    const parts = (url: string) =>
      hashes([
        {
          role: 'user',
          content: [
            { type: 'text', text: text(300, 'a ') },
            { type: 'image_url', image_url: { url } },
            { type: 'text', text: text(300, 'b ') },
          ],
        },
      ]);
    expect(shared(parts('data:1'), parts('data:2'))).toBe(1);
    const call = (args: string): ChatMessage[] => [
      { role: 'user', content: text(300, 'a ') },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: args } }],
      },
      { role: 'tool', tool_call_id: 'c', content: text(300, 'b ') },
    ];
    expect(shared(hashes(call('{"a":1}')), hashes(call('{"a":2}')))).toBe(1);
  });

  it('keep shuffled prompts with twenty system messages apart and together', () => {
    const systems = Array.from({ length: 20 }, (_, at) => text(1_800, `You are assistant ${at}. `));
    const keys = Array.from(
      { length: 400 },
      (_, at) => asked(systems[at % 20]!, text(1_000, `question ${at} `))[2]!,
    );
    expect(new Set(keys).size).toBe(20);
  });

  it('agree for requests of every format that begin alike', () => {
    const system = text(2_000, 'be kind, ');
    const of = (url: BatchEndpoint, body: object) => [
      ...prefixHashes(lineFormats[url].prompt({ model: 'm', ...body })!.chat as ChatRequest),
    ];
    const message = (n: number) => ({
      system,
      max_tokens: 9,
      messages: [{ role: 'user', content: `${n} ?` }],
    });
    const response = (n: number) => ({ instructions: system, input: `${n} ?` });
    expect(of('/v1/messages', message(1)).slice(0, 4)).toEqual(asked(system, '3 ?').slice(0, 4));
    expect(shared(of('/v1/messages', message(1)), of('/v1/messages', message(2)))).toBe(3);
    expect(shared(of('/v1/responses', response(1)), of('/v1/responses', response(2)))).toBe(3);
  });
});
