import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, testModel } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLine, embeddingsLine, endings, parseLines } from '../support/batch-lines.ts';

// A batch with the model in the repository: no network, no upstream, one process and its child.

let running: RunningApp;

beforeAll(async () => {
  const path = fileURLToPath(new URL('../../models/offpeak-tiny.gguf', import.meta.url));
  const engine = { kind: 'llama', path, sequences: 8, context: 'auto', threads: 'auto' } as const;
  running = await startApp({ models: [testModel({ ...engine, flashAttention: false })] });
});

afterAll(() => running?.stop());

const schema = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 20 }, age: { type: 'integer', minimum: 0, maximum: 120 } },
  required: ['name', 'age'],
  additionalProperties: false,
};

describe('a batch on the embedded model', () => {
  it('answers 20 lines, including schemas and forced tools', async () => {
    const { api } = running;
    const asks = (n: number) => `What is the capital of ${['France', 'Italy', 'Spain', 'Japan'][n % 4]}?`;
    const format = { type: 'json_schema', json_schema: { name: 'person', strict: true, schema } };
    const tools = [{ type: 'function', function: { name: 'note', parameters: schema } }];
    const tool_choice = { type: 'function', function: { name: 'note' } };
    const lines = [
      ...Array.from({ length: 14 }, (_, n) => chatLine(`ask-${n}`, asks(n), { max_tokens: 24 })),
      ...Array.from({ length: 3 }, (_, n) =>
        chatLine(`schema-${n}`, 'Ada Lovelace, 36', { response_format: format, max_tokens: 80 }),
      ),
      ...Array.from({ length: 3 }, (_, n) =>
        chatLine(`tool-${n}`, 'Note Alan Turing, 41', { tools, tool_choice, max_tokens: 80 }),
      ),
    ];
    const began = performance.now();
    const batch = await api.finished((await api.createBatch((await api.upload(lines)).id)).id);
    console.info(`20 lines on the embedded model: ${Math.round(performance.now() - began)} ms`);
    expect(batch).toMatchObject({
      status: 'completed',
      request_counts: { total: 20, completed: 20, failed: 0 },
    });
    const output = (await api.results(batch.id, 'output')).text;
    expect(endings(output, '').distinct.size).toBe(20);
    for (const { custom_id, response } of parseLines(output)) {
      const [choice] = response!.body.choices;
      expect(response!.body.model).toBe('tiny');
      if (custom_id.startsWith('schema')) expectPerson(choice!.message.content);
      else if (custom_id.startsWith('tool')) expectPerson(argumentsOf(choice!.message));
      else expect(choice!.message.content).not.toBe('');
    }
    expect(batch.usage.input_tokens).toBeGreaterThan(100);
    expect(batch.usage.output_tokens).toBeGreaterThan(20);
  });

  it('returns embeddings', async () => {
    const { api } = running;
    const file = await api.upload([embeddingsLine('a', 'night'), embeddingsLine('b', ['day', 'dawn'])]);
    const batch = await api.finished((await api.createBatch(file.id, { endpoint: '/v1/embeddings' })).id);
    expect(batch.request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
  });
});

function argumentsOf(message: unknown): string {
  const { tool_calls } = message as { tool_calls: { function: { name: string; arguments: string } }[] };
  expect(tool_calls[0]!.function.name).toBe('note');
  return tool_calls[0]!.function.arguments;
}

function expectPerson(json: string): void {
  const person = JSON.parse(json) as { name: unknown; age: unknown };
  expect(Object.keys(person).toSorted()).toEqual(['age', 'name']);
  expect(typeof person.name).toBe('string');
  expect(Number.isInteger(person.age)).toBe(true);
}
