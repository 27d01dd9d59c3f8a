import { expect, test } from 'vitest';
import { sloppySchemas } from '../../../../test/support/sloppy-schemas.ts';
import type { ChatRequest, Tool } from '../../../wire/chat/chat.ts';
import { answerRule } from '../../../wire/chat/answer-rule.ts';
import { createConstraint } from './constraint.ts';
import { detectFamily } from './families.ts';

const ask = (more: Partial<ChatRequest>): ChatRequest => ({
  model: 'm',
  messages: [{ role: 'user', content: 'hi' }],
  tools: [{ type: 'function', function: { name: 'f' } }],
  response_format: { type: 'json_object' },
  ...more,
});
const named = { type: 'function' as const, function: { name: 'f' } };

test.each<[Partial<ChatRequest>, boolean]>([
  [{}, false],
  [{ tool_choice: null, parallel_tool_calls: null }, false],
  [{ tool_choice: 'auto', parallel_tool_calls: true }, false],
  [{ tool_choice: 'required' }, false],
  [{ parallel_tool_calls: false }, true],
  [{ tool_choice: named }, true],
])('%j allows one call: %s', (more, isOne) => {
  expect(answerRule(ask(more)).maxCalls === 1).toBe(isOne);
});

test('a null tool_choice constrains the answer like an absent one', () => {
  const family = detectFamily('<tool_call>');
  const rules = (more: Partial<ChatRequest>) => createConstraint(ask(more), family)?.grammar.rules;
  expect(rules({ tool_choice: null })).toEqual(rules({}));
  expect(rules({ parallel_tool_calls: false })).not.toEqual(rules({}));
});

test('a forced call of a missing tool is rejected', () => {
  const other = { type: 'function' as const, function: { name: 'g' } };
  for (const more of [{ tool_choice: other }, { tools: [], tool_choice: 'required' as const }])
    expect(() => createConstraint(ask(more), detectFamily(undefined))).toThrow(
      expect.objectContaining({ code: 'validation_error', param: 'tool_choice' }),
    );
});

test('an answer that may call nothing is constrained like one without tools', () => {
  const rules = (more: Partial<ChatRequest>) =>
    createConstraint(ask(more), detectFamily('tools'))?.grammar.rules;
  expect(rules({ tool_choice: 'none' })).toEqual(rules({ tools: undefined }));
  expect(rules({ tool_choice: 'none' })).not.toEqual(rules({}));
});

test('a function without parameters takes none, also with unevaluatedProperties', () => {
  const parametersOf = (more: object): Tool[] => [
    { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {}, ...more } } },
  ];
  const rules = (more: object) =>
    createConstraint(ask({ tools: parametersOf(more), tool_choice: 'required' }), detectFamily('<tool_call>'))
      ?.grammar.rules;
  expect(rules({ unevaluatedProperties: false, description: 'x' })).toEqual(rules({}));
  expect(rules({ additionalProperties: true })).not.toEqual(rules({}));
});

test.each(Object.entries(sloppySchemas))(
  'a tool that may be called takes any object: %s',
  (_, parameters) => {
    const rules = (schema: object) => {
      const tools: Tool[] = [{ type: 'function', function: { name: 'f', parameters: { ...schema } } }];
      return createConstraint(ask({ tools }), detectFamily('<tool_call>'))?.grammar.rules;
    };
    expect(rules(parameters)).toEqual(rules({ type: 'object', additionalProperties: true }));
  },
);

test('a schema that no value satisfies is named by its place', () => {
  const schema = { type: 'string', minLength: 5, maxLength: 2 };
  const parameters = { type: 'object', properties: { a: schema }, required: ['a'] };
  const tools: Tool[] = ['f', 'g'].map((name) => ({ type: 'function', function: { name, parameters } }));
  const cases: [Partial<ChatRequest>, string][] = [
    [
      { tools: null, response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
      'response_format.json_schema.schema#',
    ],
    [{ tools, tool_choice: 'required' }, 'tools[0].function.parameters#'],
    [{ tools, tool_choice: { type: 'function', function: { name: 'g' } } }, 'tools[1].function.parameters#'],
  ];
  for (const [more, param] of cases)
    expect(() => createConstraint(ask(more), detectFamily('<tool_call>'))).toThrow(
      expect.objectContaining({ code: 'validation_error', param }),
    );
});
