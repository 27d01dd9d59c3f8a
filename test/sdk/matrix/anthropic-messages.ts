import type * as zodHelpers from '@anthropic-ai/sdk/helpers/zod';
import type { Message, ToolUseBlock } from '@anthropic-ai/sdk/resources/messages';
import { expect } from 'vitest';
import { z } from 'zod';
import type { RunningApp } from '../../support/app.ts';
import type { FakeUpstream } from '../../support/fake-upstream.ts';
import { until } from '../../support/until.ts';
import type { MessagesClient, MessagesSdk } from '../anthropic-clients.ts';
import type { AnthropicCell } from './cells.ts';

/** Context of an anthropic cell. */
export interface AnthropicCase {
  client: MessagesClient;
  sdk: MessagesSdk;
  /** Helpers that come with this client. */
  zod: typeof zodHelpers;
  running: RunningApp;
  /** Upstream of the model `weather`. */
  upstream: FakeUpstream;
}

const say = (content: string) => [{ role: 'user' as const, content }];
const base = { model: 'default', max_tokens: 200 };
const person = z.object({ name: z.string(), age: z.number().int(), nick: z.string().nullable() });
const weather = {
  name: 'get_weather',
  description: 'The weather now.',
  input_schema: {
    type: 'object' as const,
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};
const question = say('How is the weather in Rome?');

const textOf = ({ content }: Message): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');

export const anthropicMessages: Record<AnthropicCell, (of: AnthropicCase) => Promise<void>> = {
  async 'messages: plain'({ client }) {
    const message = await client.messages.create({ ...base, messages: say('good night') });
    expect(message).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      type: 'message',
      role: 'assistant',
      model: 'tiny',
      stop_reason: 'end_turn',
      _request_id: expect.stringMatching(/^req_/),
    });
    expect(textOf(message)).toBe('Echo: good night');
    expect(message.usage.output_tokens).toBeGreaterThan(0);
  },

  async 'messages: stream'({ client }) {
    const asked = { ...base, messages: say('one two three') };
    const types: string[] = [];
    let text = '';
    for await (const event of await client.messages.create({ ...asked, stream: true })) {
      if (event.type !== types.at(-1)) types.push(event.type);
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text;
    }
    expect(text).toBe('Echo: one two three');
    expect(types).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  },

  async 'messages: stream helper'({ client }) {
    const pieces: string[] = [];
    const stream = client.messages.stream({ ...base, messages: say('put together') });
    stream.on('text', (piece) => pieces.push(piece));
    const message = await stream.finalMessage();
    expect([textOf(message), message.stop_reason]).toEqual(['Echo: put together', 'end_turn']);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe('Echo: put together');
  },

  async 'messages: tools'({ client }) {
    const asked = { ...base, model: 'weather', tools: [weather] };
    const first = await client.messages.create({ ...asked, messages: question });
    expect(first.stop_reason).toBe('tool_use');
    const use = first.content.find((block) => block.type === 'tool_use') as ToolUseBlock;
    expect(use).toMatchObject({ id: 'call_1', name: 'get_weather', input: { city: 'Rome' } });
    const second = await client.messages.create({
      ...asked,
      messages: [
        ...question,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: '12 degrees' }] },
      ],
    });
    expect([textOf(second), second.stop_reason]).toEqual(['The tool said: 12 degrees', 'end_turn']);
  },

  async 'messages: tools, streamed'({ client }) {
    const stream = client.messages.stream({
      ...base,
      model: 'weather',
      tools: [weather],
      messages: question,
    });
    const pieces: string[] = [];
    stream.on('inputJson', (piece) => pieces.push(piece));
    const message = await stream.finalMessage();
    expect(message.stop_reason).toBe('tool_use');
    expect(message.content).toMatchObject([{ type: 'tool_use', input: { city: 'Rome' } }]);
    expect(pieces.join('')).toBe('{"city":"Rome"}');
  },

  async 'messages: tool runner'({ client }) {
    const asked: unknown[] = [];
    const run = (input: unknown) => {
      asked.push(input);
      return '12 degrees';
    };
    const parse = (input: unknown) => input as { city: string };
    const tools = [{ ...weather, run, parse }];
    const runner = client.beta.messages.toolRunner({ ...base, model: 'weather', messages: question, tools });
    const { content } = await runner.runUntilDone();
    expect(content).toMatchObject([{ type: 'text', text: 'The tool said: 12 degrees' }]);
    expect(asked).toEqual([{ city: 'Rome' }]);
  },

  async 'messages: forced tool'({ client }) {
    for (const tool_choice of [{ type: 'tool' as const, name: 'get_weather' }, { type: 'any' as const }]) {
      const asked = { ...base, messages: say('Hello!'), tools: [weather], tool_choice };
      for (const message of [
        await client.messages.create(asked),
        await client.messages.stream(asked).finalMessage(),
      ]) {
        expect(message.stop_reason).toBe('tool_use');
        expect(message.content).toMatchObject([
          { type: 'tool_use', name: 'get_weather', input: { city: expect.any(String) } },
        ]);
      }
    }
  },

  async 'messages: structured output'({ client, zod }) {
    const message = await client.messages.parse({
      ...base,
      messages: say('Ada, 36'),
      output_config: { format: zod.zodOutputFormat(person) },
    });
    expect(person.parse(message.parsed_output)).toBeTruthy();
  },

  async 'messages: structured output, streamed'({ client, zod }) {
    const stream = client.messages.stream({
      ...base,
      messages: say('Ada, 36'),
      output_config: { format: zod.zodOutputFormat(person) },
    });
    expect(person.parse((await stream.finalMessage()).parsed_output)).toBeTruthy();
  },

  async 'messages: broken stream'({ client, sdk }) {
    const asked = { ...base, messages: say('[[cut 2]] broken off') };
    const read = async () => {
      for await (const event of await client.messages.create({ ...asked, stream: true }))
        expect(event.type).not.toBe('message_stop');
    };
    const error = await read().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(sdk.APIError);
    expect(error).toMatchObject({ type: 'api_error', message: expect.stringMatching(/ended too early/) });
    await expect(client.messages.stream(asked).finalMessage()).rejects.toThrow(/ended too early/);
  },

  async 'messages: abort'({ client, upstream }) {
    upstream.received.length = 0;
    const asked = { ...base, model: 'weather', messages: say('for ever') };
    const stream = await client.messages.create({ ...asked, stream: true });
    for await (const event of stream) if (event.type === 'content_block_delta') break;
    stream.controller.abort();
    await until('the upstream sees that nobody listens', () => upstream.received[0]?.aborted);
  },

  async 'messages: flex'({ client }) {
    const tier = 'flex' as 'auto';
    const asked = { model: 'default', max_tokens: 99, messages: say('at batch price'), service_tier: tier };
    const answer = {
      content: [{ type: 'text', text: 'Echo: at batch price' }],
      stop_reason: 'end_turn',
      usage: { service_tier: 'batch' },
    };
    expect(await client.messages.create(asked)).toMatchObject(answer);
    expect(await client.messages.stream(asked).finalMessage()).toMatchObject(answer);
  },

  async 'messages: count tokens'({ client }) {
    const asked = { model: 'default', system: 'be kind', messages: say('how many?'), tools: [weather] };
    const { input_tokens } = await client.messages.countTokens(asked);
    const { usage } = await client.messages.create({ ...asked, max_tokens: 5 });
    expect(input_tokens).toBe(usage.input_tokens + (usage.cache_read_input_tokens ?? 0));
  },

  async models({ client }) {
    const ids: string[] = [];
    for await (const each of client.models.list()) ids.push(each.id);
    expect(ids).toEqual(['tiny', 'weather']);
    expect(await client.models.retrieve('default')).toMatchObject({ id: 'tiny', type: 'model' });
  },

  // `/v1/files` has the format of the openai clients.
  async 'files are refused'({ client, sdk }) {
    const error = await client.beta.files
      .upload({ file: new File(['{}'], 'in.jsonl') })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(sdk.UnprocessableEntityError);
    expect((error as Error).message).toMatch(/^422 purpose: /);
  },

  async batches({ client }) {
    const { batches } = client.messages;
    const requests = ['one', 'two'].map((custom_id) => ({
      custom_id,
      params: { ...base, messages: say(custom_id) },
    }));
    const { id } = await batches.create({ requests });
    await until('the batch ends', async () => (await batches.retrieve(id)).processing_status === 'ended');
    const answered: string[] = [];
    for await (const { custom_id, result } of await batches.results(id)) {
      if (result.type === 'succeeded') expect(textOf(result.message)).not.toBe('');
      answered.push(`${custom_id} ${result.type}`);
    }
    expect(answered.toSorted()).toEqual(['one succeeded', 'two succeeded']);
    const listed: string[] = [];
    for await (const batch of batches.list({ limit: 1 })) listed.push(batch.id);
    expect(listed).toContain(id);
    expect(await batches.delete(id)).toEqual({ id, type: 'message_batch_deleted' });
  },
};
