import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ChatChunk, ChatResponse } from '../../src/wire/chat/chat.ts';
import type { ErrorBody } from '../support/api.ts';
import { sloppySchemas } from '../support/sloppy-schemas.ts';
import { startApp, testModel } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';

// The embedded engine enforces guarantees itself, so its answers stream as they are generated; they are checked all the
// same.

let running: RunningApp;
beforeAll(async () => {
  const path = fileURLToPath(new URL('../../models/offpeak-tiny.gguf', import.meta.url));
  const engine = { kind: 'llama', path, sequences: 2, context: 'auto', threads: 1 } as const;
  running = await startApp({ models: [testModel({ ...engine, flashAttention: false })] });
});
afterAll(() => running?.stop());

const parameters = { type: 'object', properties: { city: { enum: ['Oslo', 'Rome'] } }, required: ['city'] };
const tools = ['first', 'second'].map((name) => ({ type: 'function', function: { name, parameters } }));
const ask = (more: object) => ({
  model: 'tiny',
  messages: [{ role: 'user', content: 'How is the weather in Rome?' }],
  temperature: 0,
  max_tokens: 60,
  ...more,
});
const required = { tools, tool_choice: 'required' };

const create = (more: object) => running.api.post<ChatResponse>('/v1/chat/completions', ask(more));
const send = (more: object) => running.api.send('/v1/chat/completions', { json: ask(more) });
const eventsOf = (text: string) =>
  text
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice(6)) as ChatChunk & Partial<ErrorBody>);

it('streams guaranteed JSON and forced calls piece by piece', async () => {
  const schema = { type: 'array', items: parameters, minItems: 2, maxItems: 2 };
  const format = { type: 'json_schema', json_schema: { name: 'places', schema } };
  const json = await send({ response_format: format, stream: true });
  const texts = eventsOf(json.text).flatMap((chunk) => chunk.choices.map(({ delta }) => delta.content ?? ''));
  expect(texts.filter((text) => text !== '').length).toBeGreaterThan(3);
  expect(JSON.parse(texts.join(''))).toMatchObject([
    { city: expect.any(String) },
    { city: expect.any(String) },
  ]);

  const call = await send({ ...required, stream: true });
  const choices = eventsOf(call.text).flatMap((chunk) => chunk.choices);
  const pieces = choices.flatMap(({ delta }) => delta.tool_calls ?? []).filter(({ index }) => index === 0);
  const args = pieces.map((piece) => piece.function?.arguments ?? '').join('');
  expect(['Oslo', 'Rome']).toContain((JSON.parse(args) as { city: string }).city);
  expect(choices.at(-1)?.finish_reason).toBe('tool_calls');
  for (const { text } of [json, call]) expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
});

it('calls only allowed tools, once on request, and none if none is allowed', async () => {
  for (const name of ['first', 'second']) {
    const allowed = { mode: 'required', tools: [{ type: 'function', function: { name } }] };
    const more = { tools, tool_choice: { type: 'allowed_tools', allowed_tools: allowed } };
    const { choices } = await create({ ...more, parallel_tool_calls: false });
    expect(choices[0]?.message.tool_calls?.map((call) => call.function.name)).toEqual([name]);
  }
  const { choices } = await create({ tools, tool_choice: 'none' });
  expect(choices[0]).toMatchObject({ message: { content: expect.stringMatching(/./) } });
  expect(choices[0]?.message).not.toHaveProperty('tool_calls');
});

it('accepts tools with unsupported schemas if no call has to conform to them', async () => {
  const short = Object.values(sloppySchemas).filter((schema) => JSON.stringify(schema).length < 200);
  const sloppy = short.map((schema, n) => ({
    type: 'function',
    function: { name: `f${n}`, parameters: schema },
  }));
  for (let from = 0; from < sloppy.length; from += 5)
    for (const more of [{}, { response_format: { type: 'json_object' } }]) {
      const { status, text } = await send({ tools: sloppy.slice(from, from + 5), max_tokens: 9, ...more });
      expect(status, text).toBe(200);
    }
});

/** The grammar does not enforce `maxContains`, and every answer violates it. */
const missed = {
  response_format: {
    type: 'json_schema',
    json_schema: {
      name: 'none',
      strict: true,
      schema: {
        type: 'array',
        items: { type: 'integer', maximum: 9 },
        minItems: 1,
        maxItems: 2,
        contains: {},
        minContains: 0,
        maxContains: 0,
      },
    },
  },
};

it('reports an answer that violates the schema as an error', async () => {
  const { status, text } = await send(missed);
  expect([status, (JSON.parse(text) as ErrorBody).error.code]).toEqual([502, 'schema_not_met']);
});

it('ends such a stream with the error instead of a finish reason', async () => {
  const { status, text } = await send({ ...missed, stream: true });
  expect(status).toBe(200);
  const events = eventsOf(text);
  expect(events.at(-1)?.error?.code).toBe('schema_not_met');
  const choices = events.slice(0, -1).flatMap((chunk) => chunk.choices);
  expect(choices.map(({ delta }) => delta.content ?? '').join('')).toMatch(/^\[/);
  expect(choices.every((choice) => choice.finish_reason === null)).toBe(true);
  expect(text).not.toContain('[DONE]');
});
