import { expect } from 'vitest';
import { z } from 'zod';
import { until } from '../../support/until.ts';
import type { OpenAICell } from './cells.ts';
import type { OpenAICase } from './openai-case.ts';

const model = 'default';
const say = (content: string) => [{ role: 'user' as const, content }];
const person = z.object({ name: z.string(), age: z.number().int(), nick: z.string().nullable() });
const parameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const weather = {
  type: 'function',
  function: { name: 'get_weather', description: 'The weather now.', parameters, strict: true },
} as const;
const question = 'How is the weather in Rome?';

type ChatCell = Extract<OpenAICell, `chat: ${string}`>;

export const openaiChat: Record<ChatCell, (of: OpenAICase) => Promise<void>> = {
  async 'chat: plain'({ client }) {
    const answer = await client.chat.completions.create({ model, messages: say('good night') });
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^chatcmpl/),
      object: 'chat.completion',
      model: 'tiny',
      choices: [
        { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Echo: good night' } },
      ],
      _request_id: expect.stringMatching(/^req_/),
    });
    const { prompt_tokens, completion_tokens, total_tokens } = answer.usage!;
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
  },

  async 'chat: stream'({ client }) {
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
    expect([text, finish]).toEqual(['Echo: one two three four', 'stop']);
    expect(usages).toHaveLength(1);
    expect(usages[0]!.total_tokens).toBeGreaterThan(0);
  },

  async 'chat: stream helper'({ client }) {
    const stream = client.chat.completions.stream({ model, messages: say('put together') });
    const pieces: string[] = [];
    stream.on('content', (piece) => pieces.push(piece));
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]!.message.content).toBe('Echo: put together');
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe('Echo: put together');
  },

  async 'chat: tools'({ client }) {
    const asked = { model: 'weather', tools: [weather], messages: say(question) };
    const { choices } = await client.chat.completions.create(asked);
    const [first] = choices;
    expect(first!.finish_reason).toBe('tool_calls');
    expect(first!.message.tool_calls).toMatchObject([
      { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
    ]);
    const second = await client.chat.completions.create({
      ...asked,
      messages: [
        ...asked.messages,
        first!.message,
        { role: 'tool', tool_call_id: 'call_1', content: '12 degrees' },
      ],
    });
    expect(second.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'The tool said: 12 degrees' },
    });
  },

  async 'chat: tools, streamed'({ client }) {
    const stream = client.chat.completions.stream({
      model: 'weather',
      tools: [weather],
      messages: say(question),
    });
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ id: 'call_1', function: { arguments: '{"city":"Rome"}' } }] },
    });
  },

  async 'chat: tool runner'({ client }) {
    const asked: unknown[] = [];
    const run = (input: unknown) => {
      asked.push(input);
      return '12 degrees';
    };
    const tool = { ...weather, function: { ...weather.function, function: run, parse: JSON.parse } };
    const runner = client.chat.completions.runTools({
      model: 'weather',
      messages: say(question),
      tools: [tool as never],
    });
    expect(await runner.finalContent()).toBe('The tool said: 12 degrees');
    expect(asked).toEqual([{ city: 'Rome' }]);
  },

  async 'chat: forced tool'({ client }) {
    const tool_choice = { type: 'function', function: { name: 'get_weather' } } as const;
    const asked = { model, messages: say('Hello!'), tools: [weather], tool_choice };
    for (const { choices } of [
      await client.chat.completions.create(asked),
      await client.chat.completions.stream(asked).finalChatCompletion(),
    ]) {
      expect(choices[0]!.finish_reason).toBe('tool_calls');
      const [call] = choices[0]!.message.tool_calls ?? [];
      expect(call).toMatchObject({ type: 'function', function: { name: 'get_weather' } });
      const { arguments: json } = (call as { function: { arguments: string } }).function;
      expect(JSON.parse(json)).toEqual({ city: expect.any(String) });
    }
  },

  async 'chat: structured output'({ client, zod }) {
    const completion = await client.chat.completions.parse({
      model,
      messages: say('Ada, 36'),
      response_format: zod.zodResponseFormat(person, 'person'),
    });
    expect(person.parse(completion.choices[0]!.message.parsed)).toBeTruthy();
  },

  async 'chat: structured output, streamed'({ client, zod }) {
    const stream = client.chat.completions.stream({
      model,
      messages: say('Ada, 36'),
      response_format: zod.zodResponseFormat(person, 'person'),
    });
    const completion = await stream.finalChatCompletion();
    expect(person.parse(completion.choices[0]!.message.parsed)).toBeTruthy();
  },

  async 'chat: broken stream'({ client, sdk }) {
    const asked = { model, messages: say('[[cut 2]] broken off') };
    const stream = await client.chat.completions.create({ ...asked, stream: true });
    const read = async () => {
      for await (const chunk of stream) expect(chunk.object).toBe('chat.completion.chunk');
    };
    const error = await read().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(sdk.APIError);
    expect(error).toMatchObject({
      code: 'invalid_upstream_response',
      type: 'server_error',
      message: expect.stringMatching(/ended too early/),
    });
    await expect(client.chat.completions.stream(asked).finalContent()).rejects.toThrow(/ended too early/);
  },

  async 'chat: abort'({ client, upstream }) {
    upstream.received.length = 0;
    const messages = say('for ever');
    const stream = await client.chat.completions.create({ model: 'weather', messages, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    stream.controller.abort();
    await until('the upstream sees that nobody listens', () => upstream.received[0]?.aborted);
  },

  async 'chat: flex'({ client }) {
    const asked = { model, messages: say('at batch price'), service_tier: 'flex' as const };
    const answer = {
      service_tier: 'flex',
      choices: [{ finish_reason: 'stop', message: { content: 'Echo: at batch price' } }],
    };
    expect(await client.chat.completions.create(asked)).toMatchObject(answer);
    expect(await client.chat.completions.stream(asked).finalChatCompletion()).toMatchObject(answer);
  },
};
