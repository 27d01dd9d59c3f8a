import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { batchEndpoints } from '../../src/core/batch.ts';
import type { Flavor } from '../../src/core/flavor.ts';
import type { ErrorBody } from '../support/api.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { complete, startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { sloppySchemas } from '../support/sloppy-schemas.ts';

// Schemas of tools whose calls need not conform are sent to the server unchanged.

const flavors: readonly Flavor[] = ['vllm', 'llama-server', 'ollama', 'openai', 'anthropic', 'generic'];

let fake: FakeUpstream;
let running: RunningApp;
beforeAll(async () => {
  fake = await startFakeUpstream();
  const engines = flavors.map((flavor) => ({ ...upstreamEngine(fake.url), flavor, capabilities: {} }));
  const models = engines.map((engine) => ({ ...testModel(engine), id: engine.flavor, aliases: [] }));
  const scripted = { ...testModel(), id: 'scripted', aliases: [] };
  running = await startApp({ models: [...models, scripted], batch: { endpoints: batchEndpoints } });
});
beforeEach(() => void Object.assign(fake, { received: [], answer: complete() }));
afterAll(async () => {
  await running?.stop();
  await fake?.close();
});

const schemas = Object.values(sloppySchemas);
const messages = [{ role: 'user', content: 'hi' }];
type Choice = 'auto' | 'none' | undefined;

/** Request for each endpoint, with a tool for each schema. */
const bodies: Record<string, (choice: Choice) => object> = {
  '/v1/chat/completions': (choice) => ({
    messages,
    tools: schemas.map((parameters, n) => ({
      type: 'function',
      function: { name: `f${n}`, parameters, ...(n % 2 && { strict: false }) },
    })),
    ...(choice && { tool_choice: choice }),
  }),
  '/v1/responses': (choice) => ({
    input: 'hi',
    store: false,
    tools: schemas.map((parameters, n) => ({
      type: 'function',
      name: `f${n}`,
      parameters,
      strict: n % 2 ? false : null,
    })),
    ...(choice && { tool_choice: choice }),
  }),
  '/v1/messages': (choice) => ({
    max_tokens: 9,
    messages,
    tools: schemas.map((input_schema, n) => ({ name: `f${n}`, input_schema })),
    ...(choice && { tool_choice: { type: choice } }),
  }),
};

/** Schemas that the server received, as text. */
function sent(): string[] {
  const body = JSON.parse(fake.received.at(-1)!.text) as { tools?: SentTool[] };
  return (body.tools ?? []).map((tool) =>
    JSON.stringify(tool.function?.parameters ?? tool.parameters ?? tool.input_schema),
  );
}

interface SentTool {
  function?: { parameters: object };
  parameters?: object;
  input_schema?: object;
}

const cells = Object.keys(bodies).flatMap((path) => flavors.map((flavor) => [path, flavor] as const));

it.each(cells)('%s to %s: are sent unchanged', async (path, flavor) => {
  const { status, text } = await running.api.send(path, {
    json: { model: flavor, ...bodies[path]!(undefined) },
  });
  expect(status, text).toBe(200);
  // Anthropic accepts only objects.
  const isMessage = fake.received.at(-1)!.path.endsWith('/messages') && path !== '/v1/messages';
  const expected = schemas.map((schema) =>
    isMessage && !('type' in schema) ? { ...schema, type: 'object' } : schema,
  );
  expect(sent()).toEqual(expected.map((schema) => JSON.stringify(schema)));
});

it.each(Object.keys(bodies))(
  '%s: are refused neither with a tool choice nor by an engine of Offpeak',
  async (path) => {
    for (const choice of ['auto', 'none'] as const)
      for (const model of ['generic', 'scripted'])
        expect((await running.api.send(path, { json: { model, ...bodies[path]!(choice) } })).status).toBe(
          200,
        );
  },
);

it('may accompany a tool that must be called, and only that one is checked', async () => {
  const good = { type: 'function', function: { name: 'good', parameters: { type: 'object' } } };
  const { tools } = bodies['/v1/chat/completions']!(undefined) as { tools: object[] };
  const tool_choice = { type: 'function', function: { name: 'good' } };
  const call = { id: 'c1', type: 'function', function: { name: 'good', arguments: '{"a":1}' } };
  const message = { role: 'assistant', content: null, tool_calls: [call] };
  fake.answer = complete('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });
  const ask = (more: object) =>
    running.api.send('/v1/chat/completions', { json: { model: 'vllm', messages, tool_choice, ...more } });
  expect((await ask({ tools: [...tools, good] })).status).toBe(200);
  const { tools: got } = JSON.parse(fake.received.at(-1)!.text) as {
    tools: { function: { strict?: boolean } }[];
  };
  expect(got.filter(({ function: each }) => each.strict === true)).toHaveLength(1);
  const bad = { type: 'function', function: { name: 'good', parameters: sloppySchemas['type any'] } };
  const { status, text } = await ask({ tools: [...tools, bad] });
  expect([status, (JSON.parse(text) as ErrorBody).error.param]).toEqual([
    422,
    `tools[${tools.length}].function.parameters#/properties/a/type`,
  ]);
});

it('are limited in size', async () => {
  const parameters = { description: 'x'.repeat(262_144) };
  const tools = [{ type: 'function', function: { name: 'f', parameters } }];
  const { status, text } = await running.api.send('/v1/chat/completions', {
    json: { model: 'vllm', messages, tools },
  });
  expect([status, (JSON.parse(text) as ErrorBody).error.code]).toEqual([422, 'schema_too_complex']);
});

it.each(Object.keys(bodies))('run in a batch of %s', async (url) => {
  const requests = [
    { custom_id: 'a', method: 'POST' as const, url, body: { model: 'generic', ...bodies[url]!('auto') } },
  ];
  const file = await running.api.upload(requests);
  const { id } = await running.api.createBatch(file.id, { endpoint: url });
  expect((await running.api.finished(id)).request_counts).toMatchObject({ completed: 1, failed: 0 });
  expect(sent()).toEqual(schemas.map((schema) => JSON.stringify(schema)));
});
