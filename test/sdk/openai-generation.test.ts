import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { frame, startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';
import { createClient, sdks } from './clients.ts';
import type { Client } from './clients.ts';

const model = 'default';
const say = (content: string) => [{ role: 'user' as const, content }];

const personSchema = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
};

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
} as const;

describe.each(sdks)('generation through $name', ({ sdk }) => {
  let running: RunningApp;
  let upstream: FakeUpstream;
  let client: Client;

  beforeAll(async () => {
    upstream = await startFakeUpstream();
    const remote = { ...testModel(upstreamEngine(upstream.url)), id: 'remote', aliases: [] };
    running = await startApp({ models: [testModel(), remote] });
    client = createClient(sdk, running);
  });

  afterAll(async () => {
    await running?.stop();
    await upstream?.close();
  });

  it('completes a chat', async () => {
    const answer = await client.chat.completions.create({ model, messages: say('good night') });
    expect(answer).toMatchObject({ object: 'chat.completion', model: 'tiny' });
    expect(answer.id).toMatch(/^chatcmpl/);
    expect(answer.choices).toMatchObject([
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Echo: good night' } },
    ]);
    const { prompt_tokens, completion_tokens, total_tokens } = answer.usage!;
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
    expect(answer).toMatchObject({ _request_id: expect.stringMatching(/^req_/) });
  });

  it('streams a chat, with usage at the end when asked', async () => {
    const stream = await client.chat.completions.create({
      model,
      messages: say('one two three four'),
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let finish: string | null = null;
    const usages = [];
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      finish = chunk.choices[0]?.finish_reason ?? finish;
      if (chunk.usage) usages.push(chunk.usage);
    }
    expect(text).toBe('Echo: one two three four');
    expect(finish).toBe('stop');
    expect(usages).toHaveLength(1);
    expect(usages[0]!.total_tokens).toBeGreaterThan(0);
  });

  it('streams through the helper, which puts the answer together again', async () => {
    const stream = client.chat.completions.stream({ model, messages: say('put together') });
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]!.message.content).toBe('Echo: put together');
  });

  it('stops the engine when the stream is aborted', async () => {
    upstream.received.length = 0;
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(frame({ role: 'assistant', content: 'and' }));
    };
    const stream = await client.chat.completions.create({
      model: 'remote',
      messages: say('for ever'),
      stream: true,
    });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    stream.controller.abort();
    await until('the upstream sees that nobody listens', () => upstream.received[0]?.aborted);
  });

  it('raises the error that ends a stream in its middle', async () => {
    const stream = await client.chat.completions.create({
      model,
      messages: say('[[cut 2]] broken off'),
      stream: true,
    });
    const read = async () => {
      for await (const chunk of stream) expect(chunk.object).toBe('chat.completion.chunk');
    };
    await expect(read()).rejects.toThrow(/ended too early/);
  });

  it('conforms to a schema and parses it', async () => {
    const completion = await client.chat.completions.parse({
      model,
      messages: say('Ada, 36'),
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'person', strict: true, schema: personSchema },
      },
    });
    const parsed = completion.choices[0]!.message.parsed as { name: unknown; age: unknown } | null;
    expect(typeof parsed?.name).toBe('string');
    expect(Number.isInteger(parsed?.age)).toBe(true);
  });

  it('calls the tool it is made to call', async () => {
    const completion = await client.chat.completions.create({
      model,
      messages: say('Hello!'),
      tools: [weather],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    });
    const [choice] = completion.choices;
    expect(choice!.finish_reason).toMatch(/^(tool_calls|stop)$/);
    const [call] = choice!.message.tool_calls ?? [];
    expect(call).toMatchObject({ type: 'function', function: { name: 'get_weather' } });
    const { arguments: json } = (call as { function: { arguments: string } }).function;
    expect(JSON.parse(json)).toHaveProperty('city');
  });

  it('embeds, as base64 by itself and as numbers when asked', async () => {
    const input = ['night', 'day'];
    const packed = await client.embeddings.create({ model, input });
    const plain = await client.embeddings.create({ model, input, encoding_format: 'float' });
    expect(packed.data).toHaveLength(2);
    for (const [n, { embedding }] of packed.data.entries()) {
      expect(embedding).toHaveLength(64);
      for (const [at, value] of plain.data[n]!.embedding.entries())
        expect(Math.abs(value - embedding[at]!)).toBeLessThan(1e-6);
    }
    expect(plain.data[0]!.embedding).not.toEqual(plain.data[1]!.embedding);
    expect(packed.usage.prompt_tokens).toBeGreaterThan(0);
  });

  it('lists the models and finds one by id or alias', async () => {
    const ids: string[] = [];
    for await (const each of client.models.list()) ids.push(each.id);
    expect(ids).toEqual(['tiny', 'remote']);
    expect(await client.models.retrieve('tiny')).toMatchObject({ id: 'tiny', object: 'model' });
    expect((await client.models.retrieve('default')).id).toBe('tiny');
  });
});
