import { describe, expect, test } from 'vitest';
import { type CallFormat, detectFamily, markedCalls } from '../families.ts';
import type { Segment } from './segments.ts';
import { createCallSegmenter } from './tool-calls.ts';

function parse(text: string, { size = 1, format = markedCalls } = {}): Segment[] {
  const segmenter = createCallSegmenter(new Set(['f', 'g']), format);
  const segments: Segment[] = [];
  for (let at = 0; at < text.length; at += size) segments.push(...segmenter.push(text.slice(at, at + size)));
  segments.push(...segmenter.end());
  // Neighbouring texts are one text.
  return segments.reduce<Segment[]>((all, segment) => {
    const last = all.at(-1);
    if (last?.kind === 'content' && segment.kind === 'content') last.text += segment.text;
    else all.push({ ...segment });
    return all;
  }, []);
}

const call = (name: string, text: string): Segment => ({ kind: 'call', call: { name, arguments: text } });
const said = (text: string): Segment => ({ kind: 'content', text });

describe('calls are extracted from the text, wherever it is cut', () => {
  test.each<[string, Segment[]]>([
    ['<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>', [call('f', '{"a":1}')]],
    ['<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>', [call('f', '{}')]],
    ['<tool_call>{"name":"g"}</tool_call>', [call('g', '{}')]],
    [
      'First: <tool_call>{"name":"f","arguments":{}}</tool_call>\n<tool_call>{"name":"g","arguments":{}}</tool_call> done',
      [said('First: '), call('f', '{}'), call('g', '{}'), said('done')],
    ],
    ['a < b and <tool', [said('a < b and <tool')]],
  ])('%j', (text, expected) => {
    for (const size of [1, 3, 7, text.length]) expect(parse(text, { size })).toEqual(expected);
  });
});

test.each([
  '<tool_call>{"name":"unknown","arguments":{}}</tool_call>',
  '<tool_call>{broken</tool_call>',
  '<tool_call>[1]</tool_call>',
  '<tool_call>{"name":"f","arguments":{',
])('an unreadable call stays text: %j', (text) => {
  expect(parse(text)).toEqual([said(text)]);
});

test('markers inside arguments are arguments', () => {
  const text = '<tool_call>{"name":"f","arguments":{"a":"</tool_call>[{"}}</tool_call>';
  expect(parse(text)).toEqual([call('f', '{"a":"</tool_call>[{"}')]);
});

describe('a model that answers with a call alone', () => {
  const format = detectFamily('<|start_header_id|> tools').calls;

  test('is read, also with several calls', () => {
    expect(parse(' {"name":"f","parameters":{"x":[1]}}', { format })).toEqual([call('f', '{"x":[1]}')]);
    const two = '{"name":"f","parameters":{}}; {"name":"g","parameters":{}}\n';
    expect(parse(two, { format })).toEqual([call('f', '{}'), call('g', '{}')]);
    expect(parse('[{"name":"f","arguments":{"x":1}}]', { format })).toEqual([call('f', '{"x":1}')]);
  });

  test('keeps JSON that is no call, and text with JSON in it', () => {
    expect(parse('{"x":1}', { format })).toEqual([said('{"x":1}')]);
    const text = 'See {"name":"f","parameters":{}}';
    expect(parse(text, { format })).toEqual([said(text)]);
  });
});

const list = detectFamily('[TOOL_CALLS]').calls;
const named = detectFamily('[TOOL_CALLS] [ARGS]').calls;
const phi = detectFamily('<|tool_call|>').calls;
test.each<[string, CallFormat, Segment[]]>([
  [
    '[TOOL_CALLS][{"name":"f","arguments":{"a":"]"}},{"name":"g"}]',
    list,
    [call('f', '{"a":"]"}'), call('g', '{}')],
  ],
  ['[TOOL_CALLS] [{"name": "f", "arguments": {}, "id": "abcdefghi"}]', list, [call('f', '{}')]],
  ['Well. [TOOL_CALLS][{"name":"f"}] So.', list, [said('Well. '), call('f', '{}'), said('So.')]],
  ['[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{}', named, [call('f', '{"a": 1}'), call('g', '{}')]],
  ['[TOOL_CALLS]h[ARGS]{"a":1}', named, [said('[TOOL_CALLS]h[ARGS]{"a":1}')]],
  ['<|tool_call|>[{"name":"f","arguments":{}}]<|/tool_call|>', phi, [call('f', '{}')]],
  ['[TOOL_CALLS] none of them', list, [said('[TOOL_CALLS] none of them')]],
  ['[TOOL_CALLS]f', named, [said('[TOOL_CALLS]f')]],
])('%s', (text, format, expected) => {
  for (const size of [1, 5, text.length]) expect(parse(text, { size, format })).toEqual(expected);
});
