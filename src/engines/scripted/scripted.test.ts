import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import type { ChatChunk, ChatRequest, JsonSchema } from '../../wire/chat/chat.ts';
import { sampleValue } from './sample-value.ts';
import { createScriptedEngine } from './scripted.ts';

const json = <T>(value: T) => ({ value, text: JSON.stringify(value) });
const ask = (content: string, more: Partial<ChatRequest> = {}) =>
  json<ChatRequest>({ model: 'm', messages: [{ role: 'user', content }], ...more });
const call = { signal: new AbortController().signal, priority: 'interactive' } as const;

// The slots, the delay, aborts and stops are tested with the directed engine, which wraps this one (test/support/scripted).
describe('the scripted engine', () => {
  const clock = createManualClock();
  const engine = createScriptedEngine({ clock });

  it('echoes the last user message, cut at stop sequences and the token limit', async () => {
    const { choices, usage } = await engine.generate(ask('Is the sky blue?', { n: 2 }), call);
    expect(choices).toMatchObject([
      { message: { content: 'Echo: Is the sky blue?' }, finish_reason: 'stop' },
      { index: 1 },
    ]);
    expect(usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 14 });
    const stopped = await engine.generate(ask('one END two', { stop: ['two', 'END'] }), call);
    expect(stopped.choices).toMatchObject([{ message: { content: 'Echo: one ' }, stop_reason: 'END' }]);
    const cut = await engine.generate(ask('one two', { max_tokens: 2 }), call);
    expect(cut.choices).toMatchObject([{ message: { content: 'Echo:' }, finish_reason: 'length' }]);
  });

  it('streams what it would answer whole', async () => {
    const chunks: ChatChunk[] = [];
    for await (const some of engine.stream(ask('Tell me about the sea'), call)) chunks.push(...some);
    expect(chunks.length).toBe(7);
    expect(chunks.map(({ choices: [choice] }) => choice?.delta.content ?? '').join('')).toBe(
      'Echo: Tell me about the sea',
    );
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.at(-1)?.usage?.completion_tokens).toBe(8);
  });

  it('embeds to unit vectors that depend on the text alone', async () => {
    const { vectors, promptTokens } = await engine.direct(
      'embeddings',
      json({ model: 'm', input: ['a', 'b', 'a', ''] }),
      call,
    );
    expect(vectors[0]).toEqual(vectors[2]);
    expect(vectors[0]).not.toEqual(vectors[1]);
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1);
    expect([vectors[0]?.length, promptTokens]).toEqual([64, 3]);
  });
});

it.each<[string, JsonSchema]>([
  [
    'an object',
    {
      type: 'object',
      properties: { name: { type: 'string', minLength: 3 }, age: { type: 'integer', minimum: 18 }, more: {} },
      required: ['name', 'age'],
      additionalProperties: false,
    },
  ],
  ['enum and const', { type: 'array', items: { anyOf: [{ enum: ['x'] }, { const: 7 }] }, minItems: 2 }],
  [
    'a recursive tree',
    {
      $defs: {
        node: {
          type: 'object',
          properties: { next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
          required: ['next'],
        },
      },
      $ref: '#/$defs/node',
    },
  ],
  [
    'allOf',
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] },
        { properties: { b: { type: 'number', maximum: -2.5 } }, required: ['b'] },
      ],
    },
  ],
])('makes a value of %s', (_, schema) => {
  const valid = new Ajv2020({ strict: false }).compile(schema);
  expect(valid(sampleValue(schema)), JSON.stringify(valid.errors)).toBe(true);
});
