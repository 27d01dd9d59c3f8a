import { ResponsesToolRunner } from 'openai/helpers/responses-tool-runner';
import { expect } from 'vitest';
import { z } from 'zod';
import { until } from '../../support/until.ts';
import type { OpenAICell } from './cells.ts';
import type { OpenAICase } from './openai-case.ts';

const model = 'default';
const person = z.object({ name: z.string(), age: z.number().int(), nick: z.string().nullable() });
const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather now.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
} as const;
const question = { role: 'user' as const, content: 'How is the weather in Rome?' };

type ResponsesCell = Extract<OpenAICell, `responses: ${string}`>;

export const openaiResponses: Record<ResponsesCell, (of: OpenAICase) => Promise<void>> = {
  async 'responses: plain'({ client }) {
    const response = await client.responses.create({ model, input: 'good night' });
    expect(response).toMatchObject({
      id: expect.stringMatching(/^resp_/),
      object: 'response',
      model: 'tiny',
      status: 'completed',
      output_text: 'Echo: good night',
      _request_id: expect.stringMatching(/^req_/),
    });
    const { input_tokens, output_tokens, total_tokens } = response.usage!;
    expect(total_tokens).toBe(input_tokens + output_tokens);
  },

  async 'responses: stream'({ client }) {
    const stream = await client.responses.create({ model, input: 'one two three', stream: true });
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, n) => n));
    expect([events[0]?.type, events.at(-1)?.type]).toEqual(['response.created', 'response.completed']);
    const text = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''));
    expect(text.join('')).toBe('Echo: one two three');
  },

  async 'responses: stream helper'({ client }) {
    const stream = client.responses.stream({ model, input: 'put together' });
    const pieces: string[] = [];
    stream.on('response.output_text.delta', ({ delta }) => pieces.push(delta));
    const response = await stream.finalResponse();
    expect(response).toMatchObject({ status: 'completed', output_text: 'Echo: put together' });
    expect(pieces.join('')).toBe('Echo: put together');
  },

  async 'responses: tools'({ client }) {
    const asked = { model: 'weather', tools: [weather] };
    for (const first of [
      await client.responses.create({ ...asked, input: [question] }),
      await client.responses.stream({ ...asked, input: [question] }).finalResponse(),
    ]) {
      expect(first.output).toMatchObject([
        { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Rome"}' },
      ]);
      const result = {
        type: 'function_call_output' as const,
        call_id: 'call_1',
        output: '12 degrees',
      };
      const input = [question, ...first.output, result] as never;
      const second = await client.responses.create({ ...asked, input });
      expect(second.output_text).toBe('The tool said: 12 degrees');
    }
  },

  /** Uses a helper of the newest client, which continues by response ID or with the whole conversation. */
  async 'responses: tool runner'({ client }) {
    const execute = async ({ city }: Record<string, unknown>) => `12 degrees in ${String(city)}`;
    const runner = new ResponsesToolRunner({ functions: [{ tool: weather, execute }] });
    for (const options of [{}, { stream: true }]) {
      const { output_text: text } = await runner.run(
        client,
        { model: 'weather', input: [question] },
        options,
      );
      expect(text).toBe('The tool said: 12 degrees in Rome');
    }
  },

  async 'responses: forced tool'({ client }) {
    const tool_choice = { type: 'function', name: 'get_weather' } as const;
    const asked = { model, input: 'Hello!', tools: [weather], tool_choice };
    for (const { output } of [
      await client.responses.create(asked),
      await client.responses.stream(asked).finalResponse(),
    ]) {
      expect(output).toMatchObject([{ type: 'function_call', name: 'get_weather' }]);
      expect(JSON.parse((output[0] as { arguments: string }).arguments)).toEqual({
        city: expect.any(String),
      });
    }
  },

  async 'responses: structured output'({ client, zod }) {
    const text = { format: zod.zodTextFormat(person, 'person') };
    const response = await client.responses.parse({ model, input: 'Ada, 36', text });
    expect(person.parse(response.output_parsed)).toBeTruthy();
  },

  async 'responses: structured output, streamed'({ client, zod }) {
    const text = { format: zod.zodTextFormat(person, 'person') };
    const response = await client.responses.stream({ model, input: 'Ada, 36', text }).finalResponse();
    expect(person.parse(response.output_parsed)).toBeTruthy();
  },

  async 'responses: stored'({ client, sdk }) {
    const { id } = await client.responses.create({ model, input: 'keep me', metadata: { a: 'b' } });
    expect(await client.responses.retrieve(id)).toMatchObject({
      id,
      output_text: 'Echo: keep me',
      metadata: { a: 'b' },
    });
    const items = [];
    for await (const item of client.responses.inputItems.list(id)) items.push(item);
    expect(items).toMatchObject([{ role: 'user', content: [{ type: 'input_text', text: 'keep me' }] }]);
    await client.responses.delete(id);
    await expect(client.responses.retrieve(id)).rejects.toThrow(sdk.NotFoundError);
  },

  async 'responses: continued'({ client }) {
    const first = await client.responses.create({ model, input: 'My name is Ada.' });
    const second = await client.responses.create({
      model: 'weather',
      input: 'What was said?',
      previous_response_id: first.id,
    });
    expect(second.output_text).toBe('My name is Ada. | Echo: My name is Ada. | What was said?');
  },

  async 'responses: background'({ client }) {
    const begun = await client.responses.create({ model, input: 'later', background: true });
    expect(begun.status).toBe('queued');
    const response = await until('the response is finished', async () => {
      const now = await client.responses.retrieve(begun.id);
      return now.status !== 'queued' && now.status !== 'in_progress' && now;
    });
    expect(response).toMatchObject({ status: 'completed', output_text: 'Echo: later' });
    const { id } = await client.responses.create({ model, input: '[[hang]]', background: true });
    expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'cancelled' });
  },

  async 'responses: flex'({ client }) {
    const asked = { model, input: 'at batch price', service_tier: 'flex' as const };
    const answer = { service_tier: 'flex', status: 'completed', output_text: 'Echo: at batch price' };
    expect(await client.responses.create(asked)).toMatchObject(answer);
    const streamed = await client.responses.stream(asked).finalResponse();
    expect(streamed).toMatchObject(answer);
    expect(await client.responses.retrieve(streamed.id)).toMatchObject(answer);
  },

  async 'responses: replay'({ client }) {
    const events = [];
    for await (const event of await client.responses.create({ model, input: 'a b c d', stream: true }))
      events.push(event);
    const { id } = (events[0] as { response: { id: string } }).response;
    const rest = [];
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: 4 }))
      rest.push(event);
    expect(rest).toEqual(events.slice(5));
    const helped = client.responses.stream({ response_id: id, starting_after: -1 });
    expect((await helped.finalResponse()).output_text).toBe('Echo: a b c d');
  },

  async 'responses: broken stream'({ client, sdk }) {
    const stream = await client.responses.create({ model, input: '[[cut 3]] broken off', stream: true });
    const read = async () => {
      for await (const event of stream) expect(event.type).not.toBe('response.completed');
    };
    const error = await read().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(sdk.APIError);
    expect(error).toMatchObject({
      code: 'invalid_upstream_response',
      message: expect.stringMatching(/ended too early/),
    });
  },

  async 'responses: count tokens'({ client }) {
    const counted = await client.responses.inputTokens.count({ model, input: 'how many?' });
    const { usage } = await client.responses.create({ model, input: 'how many?' });
    expect(counted.input_tokens).toBe(usage!.input_tokens);
  },
};
