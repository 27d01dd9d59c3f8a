import { expect, it } from 'vitest';
import { stripCodeFence } from './code-fence.ts';

it.each([
  ['{"a":1}', '{"a":1}'],
  [' {"a":1}\n', '{"a":1}'],
  ['```json\n{"a":1}\n```', '{"a":1}'],
  ['```\n{"a":1}```  ', '{"a":1}'],
  ['\n```JSON \r\n{\n"a":"```"}\r\n```', '{\n"a":"```"}'],
  ['```json\n{"a":', '{"a":'],
  ['Here it is:\n```json\n{}\n```', 'Here it is:\n```json\n{}\n```'],
  ['```json {"a":1}```', '```json {"a":1}```'],
  ['```', '```'],
  ['', ''],
])('%j is %j', (text, expected) => {
  expect(stripCodeFence(text)).toBe(expected);
});
