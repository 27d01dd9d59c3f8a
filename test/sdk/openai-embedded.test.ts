import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, testModel } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { createClient, sdks } from './clients.ts';
import type { Client } from './clients.ts';

// A real model behind unmodified clients: the guarantees hold whatever the model generates.

const parameters = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 20 }, age: { type: 'integer', minimum: 0, maximum: 120 } },
  required: ['name', 'age'],
  additionalProperties: false,
};
const note = { type: 'function', name: 'note', parameters, strict: true } as const;
const input = 'Ada Lovelace, 36';
const model = 'default';

let running: RunningApp;

beforeAll(async () => {
  const path = fileURLToPath(new URL('../../models/offpeak-tiny.gguf', import.meta.url));
  const engine = { kind: 'llama', path, sequences: 8, context: 'auto', threads: 'auto' } as const;
  running = await startApp({ models: [testModel({ ...engine, flashAttention: false })] });
});
afterAll(() => running?.stop());

describe.each(sdks)('responses of the embedded model through $name', ({ sdk }) => {
  let client: Client;
  beforeAll(() => void (client = createClient(sdk, running)));

  const expectPerson = (json: string) => {
    const person = JSON.parse(json) as { name: unknown; age: unknown };
    expect([typeof person.name, Number.isInteger(person.age)]).toEqual(['string', true]);
  };

  it('conform to a schema, plain and streamed', async () => {
    const text = {
      format: { type: 'json_schema', name: 'person', schema: parameters, strict: true },
    } as const;
    const whole = await client.responses.create({ model, input, text, max_output_tokens: 80 });
    expectPerson(whole.output_text);
    const stream = client.responses.stream({ model, input, text, max_output_tokens: 80 });
    expectPerson((await stream.finalResponse()).output_text);
  });

  it('call the forced tool, plain and streamed', async () => {
    const tool_choice = { type: 'function', name: 'note' } as const;
    const request = { model, input, tools: [note], tool_choice, max_output_tokens: 80 };
    const stream = client.responses.stream(request);
    for (const { output } of [await client.responses.create(request), await stream.finalResponse()]) {
      expect(output.map(({ type }) => type)).toEqual(['function_call']);
      const [call] = output;
      if (call?.type !== 'function_call') throw new Error('no call');
      expect(call.name).toBe('note');
      expectPerson(call.arguments);
    }
  });

  it("accept an agent's request and the token limit", async () => {
    const stream = await client.responses.create({
      model,
      instructions: 'You are an agent.',
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
        {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_text', text: 'What is the capital of Italy?' }],
        },
      ],
      tools: [{ ...note, strict: false }, { type: 'web_search' }],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      reasoning: { effort: 'medium', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      text: { verbosity: 'low' },
      store: false,
      stream: true,
      max_output_tokens: 3,
      ...({ client_metadata: { a: 'b' } } as object),
    });
    let last = '';
    for await (const event of stream) last = event.type;
    expect(last).toMatch(/^response\.(completed|incomplete)$/);
  });

  it('continue each other and count input tokens', async () => {
    const first = await client.responses.create({ model, input: 'Hello!', max_output_tokens: 8 });
    const next = { model, input: 'And now?', previous_response_id: first.id };
    const { input_tokens: counted } = await client.responses.inputTokens.count(next);
    const second = await client.responses.create({ ...next, max_output_tokens: 8 });
    expect(second.usage!.input_tokens).toBe(counted);
    expect(counted).toBeGreaterThan(first.usage!.total_tokens);
  });
});

describe.each(sdks)('text completions of the embedded engine through $name', ({ sdk }) => {
  let client: Client;
  beforeAll(() => void (client = createClient(sdk, running)));

  const prompt = '<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n';

  it('continue a raw prompt, plain and streamed', async () => {
    const request = { model, prompt, temperature: 0, stop: '\n' };
    const whole = await client.completions.create({ ...request, n: 2 });
    expect(whole.choices.map(({ index, text, finish_reason: finish }) => [index, text, finish])).toEqual([
      [0, 'Paris', 'stop'],
      [1, 'Paris', 'stop'],
    ]);
    const usage = { include_usage: true };
    const stream = await client.completions.create({ ...request, stream: true, stream_options: usage });
    let text = '';
    let tokens = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.text ?? '';
      tokens = chunk.usage?.completion_tokens ?? tokens;
    }
    expect([text, tokens]).toEqual(['Paris', whole.usage!.completion_tokens / 2]);
  });

  it('return the log probabilities of several candidate answers', async () => {
    const { choices } = await client.completions.create({
      model,
      prompt: ['Paris', 'Rome'].map((city) => prompt + city),
      echo: true,
      logprobs: 1,
      max_tokens: 1,
      temperature: 0,
    });
    const likelihoods = choices.map(({ text, logprobs }) => {
      const from = logprobs!.text_offset!.findIndex((offset) => offset >= prompt.length);
      expect(text.startsWith(prompt)).toBe(true);
      return logprobs!.token_logprobs!.slice(from, -1).reduce((sum, each) => sum + each, 0);
    });
    expect(likelihoods[0]).toBeGreaterThan(-1);
    expect(likelihoods[1]).toBeLessThan(-1);
  });

  it('raise unsupported parameters with their location', async () => {
    await expect(client.completions.create({ model, prompt, suffix: '!' })).rejects.toMatchObject({
      status: 422,
      param: 'suffix',
    });
  });
});
