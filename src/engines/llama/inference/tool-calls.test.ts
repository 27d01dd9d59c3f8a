import { describe, expect, test } from 'vitest';
import { type ToolCallPart, createToolCallParser } from './tool-calls.ts';

function parse(text: string, { size = 1, bareJson = false } = {}): ToolCallPart[] {
  const parser = createToolCallParser(new Set(['f', 'g']), { bareJson });
  const parts: ToolCallPart[] = [];
  for (let at = 0; at < text.length; at += size) parts.push(...parser.push(text.slice(at, at + size)));
  parts.push(...parser.end());
  // Neighbouring texts are one text.
  return parts.reduce<ToolCallPart[]>((all, part) => {
    const last = all.at(-1);
    if (last && 'content' in last && 'content' in part) last.content += part.content;
    else all.push({ ...part });
    return all;
  }, []);
}

const call = (name: string, text: string): ToolCallPart => ({ call: { name, arguments: text } });

describe('calls are taken out of the text, however it is cut', () => {
  test.each<[string, ToolCallPart[]]>([
    ['<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>', [call('f', '{"a":1}')]],
    ['<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>', [call('f', '{}')]],
    ['<tool_call>{"name":"g"}</tool_call>', [call('g', '{}')]],
    [
      'First: <tool_call>{"name":"f","arguments":{}}</tool_call>\n<tool_call>{"name":"g","arguments":{}}</tool_call> done',
      [{ content: 'First: ' }, call('f', '{}'), call('g', '{}'), { content: 'done' }],
    ],
    ['a < b and <tool', [{ content: 'a < b and <tool' }]],
  ])('%j', (text, expected) => {
    for (const size of [1, 3, 7, text.length]) expect(parse(text, { size })).toEqual(expected);
  });
});

test.each([
  '<tool_call>{"name":"unknown","arguments":{}}</tool_call>',
  '<tool_call>{broken</tool_call>',
  '<tool_call>[1]</tool_call>',
  '<tool_call>{"name":"f","arguments":{',
])('what cannot be read as a call stays text: %j', (text) => {
  expect(parse(text)).toEqual([{ content: text }]);
});

describe('a model that answers with the call alone', () => {
  test('has it read', () => {
    expect(parse(' {"name":"f","parameters":{"x":[1]}}', { bareJson: true })).toEqual([
      call('f', '{"x":[1]}'),
    ]);
  });

  test('keeps JSON that is no call, and text with JSON in it', () => {
    expect(parse('{"x":1}', { bareJson: true })).toEqual([{ content: '{"x":1}' }]);
    const text = 'See {"name":"f","parameters":{}}';
    expect(parse(text, { bareJson: true })).toEqual([{ content: text }]);
  });
});
