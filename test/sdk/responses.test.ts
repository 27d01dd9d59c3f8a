import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { frame, startFakeUpstream, streamed, usageFrame } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';
import { createClient, sdks } from './clients.ts';
import type { Client } from './clients.ts';

const model = 'default';

const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather now.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: false,
} as const;

const person = {
  type: 'json_schema',
  name: 'person',
  strict: true,
  schema: {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age'],
    additionalProperties: false,
  },
} as const;

interface Raised {
  status?: number;
  code: string;
  type: string;
  param: string | null;
  message: string;
}

async function raised(call: Promise<unknown>, kind: new (...args: never[]) => Error): Promise<Raised> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(kind);
  return error as Raised;
}

describe.each(sdks)('responses through $name', ({ sdk }) => {
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

  /** Last request to the upstream. */
  const asked = () => JSON.parse(upstream.received.at(-1)!.text) as { messages: unknown[] };

  describe('create', () => {
    it('answers a string', async () => {
      const response = await client.responses.create({ model, input: 'good night' });
      expect(response).toMatchObject({
        object: 'response',
        model: 'tiny',
        status: 'completed',
        output_text: 'Echo: good night',
        error: null,
        incomplete_details: null,
        _request_id: expect.stringMatching(/^req_/),
      });
      expect(response.id).toMatch(/^resp_[0-9a-f]{32}$/);
      expect(response.output).toMatchObject([
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', annotations: [] }] },
      ]);
      const { input_tokens, output_tokens, total_tokens } = response.usage!;
      expect(total_tokens).toBe(input_tokens + output_tokens);
    });

    it('names the limit that cut the answer', async () => {
      const response = await client.responses.create({
        model,
        input: '[[tokens 20]]',
        max_output_tokens: 16,
      });
      expect(response).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        max_output_tokens: 16,
        output: [{ status: 'incomplete' }],
      });
    });

    it('passes on instructions, history and images, and ignores unsupported fields', async () => {
      upstream.answer = (response) => response.end(JSON.stringify(chat({ content: 'seen' })));
      await client.responses.create({
        model: 'remote',
        instructions: 'Be short.',
        input: [
          { role: 'developer', content: 'Be kind.' },
          { role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
          { role: 'assistant', content: 'Hi.' },
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'What is it?' },
              { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' },
            ],
          },
        ],
        reasoning: { effort: 'low', summary: 'auto' },
        include: ['reasoning.encrypted_content'],
        tools: [{ type: 'web_search' } as never],
        prompt_cache_key: 'k',
        truncation: 'auto',
        store: false,
      });
      expect(asked()).toMatchObject({
        model: 'real-name',
        reasoning_effort: 'low',
        messages: [
          { role: 'system', content: 'Be short.\n\nBe kind.' },
          { role: 'user', content: 'Hello' },
          { role: 'assistant', content: 'Hi.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is it?' },
              { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
            ],
          },
        ],
      });
      expect(asked()).not.toHaveProperty('tools');
      expect(asked()).not.toHaveProperty('prompt_cache_key');
    });

    it('calls predefined tools of the format, plain and streamed, and continues from their results', async () => {
      const tools = [{ type: 'shell' }, { type: 'apply_patch' }] as never;
      const input = 'go [[tool shell {"commands":["ls"]}]]';
      const first = await client.responses.create({ model, input, tools });
      const action = { commands: ['ls'], timeout_ms: null, max_output_length: null };
      expect(first.output).toMatchObject([{ type: 'shell_call', status: 'completed', action }]);
      const [call] = first.output as unknown as { call_id: string }[];
      const output = [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }];
      const next = await client.responses.create({
        model,
        tools,
        previous_response_id: first.id,
        input: [
          { type: 'shell_call_output', call_id: call!.call_id, output } as never,
          { role: 'user', content: 'and now?' },
        ],
      });
      expect(next.output_text).toBe('Echo: and now?');
      const operation = { type: 'delete_file', path: 'a' };
      const question = `go [[tool apply_patch ${JSON.stringify(operation)}]]`;
      const done: unknown[] = [];
      for await (const event of await client.responses.create({
        model,
        input: question,
        tools,
        stream: true,
      }))
        if (event.type === 'response.output_item.done') done.push(event.item);
      expect(done).toMatchObject([{ type: 'apply_patch_call', status: 'completed', operation }]);
    });

    it('parses structured output', async () => {
      const response = await client.responses.parse({ model, input: 'Ada, 36', text: { format: person } });
      const parsed = response.output_parsed as { name: unknown; age: unknown } | null;
      expect(typeof parsed?.name).toBe('string');
      expect(Number.isInteger(parsed?.age)).toBe(true);
      expect(response.text).toMatchObject({ format: { type: 'json_schema', name: 'person', strict: true } });
    });
  });

  describe('tools', () => {
    it('calls the forced tool, in this format and in that of chat completions', async () => {
      const nested = { type: 'function', function: { name: 'get_weather' } };
      for (const tool_choice of [{ type: 'function', name: 'get_weather' } as const, nested as never]) {
        const response = await client.responses.create({
          model,
          input: 'Hello!',
          tools: [weather],
          tool_choice,
        });
        expect(response.status).toBe('completed');
        expect(response.output).toHaveLength(1);
        expect(response.output[0]).toMatchObject({
          type: 'function_call',
          name: 'get_weather',
          status: 'completed',
        });
        expect(JSON.parse((response.output[0] as { arguments: string }).arguments)).toHaveProperty('city');
        expect(response.tool_choice).toEqual({ type: 'function', name: 'get_weather' });
      }
    });

    it('continues from the result of a call', async () => {
      const input = [{ role: 'user' as const, content: 'x [[tool get_weather {"city":"Rome"}]]' }];
      const first = await client.responses.create({ model, input, tools: [weather] });
      const call = first.output.find((item) => item.type === 'function_call')!;
      expect(JSON.parse(call.arguments)).toEqual({ city: 'Rome' });
      upstream.answer = (response) => response.end(JSON.stringify(chat({ content: 'Sunny.' })));
      const second = await client.responses.create({
        model: 'remote',
        tools: [weather],
        input: [
          ...input,
          ...first.output,
          { type: 'function_call_output', call_id: call.call_id, output: '{"sun":true}' },
        ] as never,
      });
      expect(second.output_text).toBe('Sunny.');
      expect(asked().messages).toMatchObject([
        { role: 'user' },
        {
          role: 'assistant',
          tool_calls: [{ id: call.call_id, function: { name: 'get_weather', arguments: '{"city":"Rome"}' } }],
        },
        { role: 'tool', tool_call_id: call.call_id, content: '{"sun":true}' },
      ]);
    });
  });

  describe('stream', () => {
    it('sends consistent events in order', async () => {
      const stream = await client.responses.create({ model, input: 'one two three', stream: true });
      const events = [];
      for await (const event of stream) events.push(event);
      expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, n) => n));
      const types = events.map((event) => event.type).filter((type, n, all) => type !== all[n - 1]);
      expect(types).toEqual([
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ]);
      const text = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''));
      expect(text.length).toBeGreaterThan(9);
      expect(text.join('')).toBe('Echo: one two three');
    });

    it('is assembled by the helper when reasoning, text and two calls interleave', async () => {
      const call = (index: number, more: object) => frame({ tool_calls: [{ index, ...more }] });
      upstream.answer = streamed([
        frame({ role: 'assistant', content: '' }),
        frame({ reasoning_content: 'Let me ' }),
        frame({ reasoning_content: 'see.' }),
        frame({ content: 'Looking ' }),
        frame({ content: 'it up.' }),
        call(0, { id: 'call_a', type: 'function', function: { name: 'get_weather', arguments: '' } }),
        call(1, { id: 'call_b', type: 'function', function: { name: 'get_weather', arguments: '{"ci' } }),
        call(0, { function: { arguments: '{"city":"Rome"}' } }),
        call(1, { function: { arguments: 'ty":"Oslo"}' } }),
        frame({}, 'stop'),
        usageFrame,
        'data: [DONE]\n\n',
      ]);
      const stream = client.responses.stream({ model: 'remote', input: 'x', tools: [weather] });
      const response = await stream.finalResponse();
      expect(response.status).toBe('completed');
      expect(response.output).toMatchObject([
        { type: 'reasoning', summary: [{ text: 'Let me see.' }] },
        { type: 'message', content: [{ text: 'Looking it up.' }] },
        { type: 'function_call', call_id: 'call_a', arguments: '{"city":"Rome"}' },
        { type: 'function_call', call_id: 'call_b', arguments: '{"city":"Oslo"}' },
      ]);
      expect(response.usage).toMatchObject({ input_tokens: 5, output_tokens: 2 });
      const kept = await client.responses.retrieve(response.id);
      expect(response.output).toMatchObject(kept.output);
    });

    it('conforms to a schema through the helper', async () => {
      const stream = client.responses.stream({ model, input: 'Ada', text: { format: person } });
      const response = await stream.finalResponse();
      expect(JSON.parse(response.output_text)).toHaveProperty('name');
    });

    it('raises the error that breaks it off, and stores the partial response as failed', async () => {
      const stream = await client.responses.create({ model, input: '[[cut 3]] broken off', stream: true });
      let id = '';
      const read = async () => {
        for await (const event of stream) if (event.type === 'response.created') ({ id } = event.response);
      };
      const error = await raised(read(), sdk.APIError);
      expect(error).toMatchObject({ code: 'invalid_upstream_response', type: 'server_error' });
      expect(error.message).toMatch(/ended too early/);
      const kept = await client.responses.retrieve(id);
      expect(kept).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
      expect(kept.output_text.length).toBeGreaterThan(0);
      const next = client.responses.create({ model, input: 'go on', previous_response_id: id });
      expect(await raised(next, sdk.UnprocessableEntityError)).toMatchObject({
        param: 'previous_response_id',
      });
    });

    it('stops the engine when aborted, and stores nothing', async () => {
      upstream.received.length = 0;
      upstream.answer = (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(frame({ role: 'assistant', content: 'and' }));
      };
      const stream = await client.responses.create({ model: 'remote', input: 'for ever', stream: true });
      let id = '';
      for await (const event of stream) {
        if (event.type === 'response.created') ({ id } = event.response);
        if (event.type === 'response.output_text.delta') break;
      }
      stream.controller.abort();
      await until('the upstream sees that nobody listens', () => upstream.received[0]?.aborted);
      await raised(client.responses.retrieve(id), sdk.NotFoundError);
    });
  });

  describe('stored responses', () => {
    it('can be continued by previous_response_id', async () => {
      const first = await client.responses.create({ model, input: 'My name is Ada.', instructions: 'old' });
      const second = await client.responses.create({
        model,
        input: 'And I am 36.',
        previous_response_id: first.id,
      });
      expect(second.previous_response_id).toBe(first.id);
      upstream.answer = (response) => response.end(JSON.stringify(chat({ content: 'Ada, 36.' })));
      const third = await client.responses.create({
        model: 'remote',
        input: 'Who am I?',
        instructions: 'new',
        previous_response_id: second.id,
      });
      expect(third.output_text).toBe('Ada, 36.');
      expect(asked().messages).toEqual([
        { role: 'system', content: 'new' },
        { role: 'user', content: 'My name is Ada.' },
        { role: 'assistant', content: 'Echo: My name is Ada.' },
        { role: 'user', content: 'And I am 36.' },
        { role: 'assistant', content: 'Echo: And I am 36.' },
        { role: 'user', content: 'Who am I?' },
      ]);
    });

    it('accept results of their calls', async () => {
      const first = await client.responses.create({
        model,
        input: 'x [[tool get_weather {"city":"Oslo"}]]',
        tools: [weather],
      });
      const call = first.output.find((item) => item.type === 'function_call')!;
      const second = await client.responses.create({
        model,
        tools: [weather],
        tool_choice: 'none',
        previous_response_id: first.id,
        input: [{ type: 'function_call_output', call_id: call.call_id, output: 'snow' }],
      });
      expect(second.status).toBe('completed');
      const stranger = client.responses.create({
        model,
        previous_response_id: first.id,
        input: [{ type: 'function_call_output', call_id: 'call_other', output: 'snow' }],
      });
      expect(await raised(stranger, sdk.UnprocessableEntityError)).toMatchObject({
        param: 'input[0].call_id',
      });
    });

    it('can be referenced by item', async () => {
      const first = await client.responses.create({ model, input: 'Remember the milk.' });
      upstream.answer = (response) => response.end(JSON.stringify(chat({ content: 'Milk.' })));
      const second = await client.responses.create({
        model: 'remote',
        input: [
          { type: 'item_reference', id: first.output[0]!.id! },
          { id: first.output[0]!.id! },
          { role: 'user', content: 'What?' },
        ],
      });
      expect(asked().messages).toMatchObject([
        { role: 'assistant', content: 'Echo: Remember the milk.' },
        { role: 'assistant', content: 'Echo: Remember the milk.' },
        { role: 'user', content: 'What?' },
      ]);
      const { data } = await client.responses.inputItems.list(second.id, { order: 'asc' });
      expect(data[0]).toEqual(first.output[0]);
      const missing = client.responses.create({
        model,
        input: [{ type: 'item_reference', id: `msg_${'0'.repeat(36)}` }],
      });
      expect(await raised(missing, sdk.NotFoundError)).toMatchObject({ param: 'input[0].id' });
    });

    it('can be read, listed and deleted', async () => {
      const { output_text: text, ...made } = await client.responses.create({
        model,
        input: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: 'b' },
          { role: 'user', content: 'c' },
        ],
        metadata: { purpose: 'test' },
      });
      const { output_text: again, ...read } = await client.responses.retrieve(made.id);
      expect(again).toBe(text);
      expect({ ...read, _request_id: '' }).toEqual({ ...made, _request_id: '' });
      expect(read.metadata).toEqual({ purpose: 'test' });

      const items = [];
      for await (const item of client.responses.inputItems.list(made.id, { limit: 2 })) items.push(item);
      expect(items).toMatchObject([
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'c' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'b' }] },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }] },
      ]);
      expect(new Set(items.map((item) => item.id)).size).toBe(3);

      await client.responses.delete(made.id);
      await raised(client.responses.retrieve(made.id), sdk.NotFoundError);
      await raised(client.responses.delete(made.id), sdk.NotFoundError);
    });

    it('are not stored with store: false', async () => {
      const response = await client.responses.create({ model, input: 'x', store: false });
      expect(response).toMatchObject({ store: false, status: 'completed' });
      await raised(client.responses.retrieve(response.id), sdk.NotFoundError);
      const next = client.responses.create({ model, input: 'y', previous_response_id: response.id });
      expect(await raised(next, sdk.NotFoundError)).toMatchObject({
        code: 'previous_response_not_found',
        param: 'previous_response_id',
      });
    });

    it('cannot be continued across a gap', async () => {
      const first = await client.responses.create({ model, input: 'a' });
      const second = await client.responses.create({ model, input: 'b', previous_response_id: first.id });
      await client.responses.delete(first.id);
      const third = client.responses.create({ model, input: 'c', previous_response_id: second.id });
      expect(await raised(third, sdk.NotFoundError)).toMatchObject({ code: 'previous_response_not_found' });
    });

    it('replay their events with the same numbers', async () => {
      const events = [];
      for await (const event of await client.responses.create({ model, input: 'a b c d', stream: true }))
        events.push(event);
      const { id } = (events[0] as { response: { id: string } }).response;
      const again = [];
      for await (const event of await client.responses.retrieve(id, { stream: true })) again.push(event);
      expect(again).toEqual(events);
      const rest = [];
      for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: 4 }))
        rest.push(event);
      expect(rest).toEqual(events.slice(5));
    });
  });

  describe('in the background', () => {
    const settled = async (id: string) => {
      let response = await client.responses.retrieve(id);
      await until('the response is finished', async () => {
        response = await client.responses.retrieve(id);
        return response.status !== 'queued' && response.status !== 'in_progress';
      });
      return response;
    };

    it('are queued at once and finished later', async () => {
      const begun = await client.responses.create({ model, input: '[[delay 50]] later', background: true });
      expect(begun).toMatchObject({ status: 'queued', background: true, output: [] });
      expect(await settled(begun.id)).toMatchObject({ status: 'completed', output_text: 'Echo: later' });
    });

    it('can be cancelled repeatedly', async () => {
      const { id } = await client.responses.create({ model, input: '[[hang]]', background: true });
      expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'cancelled' });
      expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'cancelled' });
      expect(await client.responses.retrieve(id)).toMatchObject({ status: 'cancelled' });
      const waited = await client.responses.create({ model, input: 'x' });
      expect(await raised(client.responses.cancel(waited.id), sdk.ConflictError)).toMatchObject({
        code: 'response_not_cancellable',
      });
    });

    it('report their failure', async () => {
      const { id } = await client.responses.create({ model, input: '[[fail 500]]', background: true });
      expect(await settled(id)).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    });

    it('can be followed by their events', async () => {
      const stream = client.responses.stream({ model, input: '[[delay 20]] follow', background: true });
      expect((await stream.finalResponse()).output_text).toBe('Echo: follow');
    });
  });

  describe('errors', () => {
    it('name the location in the request as sent', async () => {
      const create = (more: object) => client.responses.create({ model, input: 'x', ...more } as never);
      const kind = sdk.UnprocessableEntityError;
      expect(await raised(create({ input: [{ role: 'user', content: 7 }] }), kind)).toMatchObject({
        status: 422,
        code: 'validation_error',
        param: 'input[0].content',
      });
      const bad = {
        type: 'function',
        name: 'f',
        strict: true,
        parameters: { type: 'object', properties: 7 },
      };
      expect(await raised(create({ tools: [{ type: 'web_search' }, bad] }), kind)).toMatchObject({
        param: expect.stringMatching(/^tools\[1\]\.parameters/),
      });
      const format = { ...person, schema: { type: 'object', properties: 7 } };
      expect(await raised(create({ text: { format } }), kind)).toMatchObject({
        param: expect.stringMatching(/^text\.format\.schema/),
      });
    });

    it('404 for an unknown model, also in the background and before a stream', async () => {
      for (const more of [{}, { background: true }, { stream: true as const }]) {
        const create = client.responses.create({ model: 'gpt-17', input: 'x', ...more });
        expect(await raised(create, sdk.NotFoundError)).toMatchObject({ code: 'model_not_found' });
      }
    });

    it('5xx for a failing engine, also before a stream', async () => {
      for (const stream of [false, true]) {
        const create = client.responses.create({ model, input: '[[fail 500]]', stream });
        expect(await raised(create, sdk.InternalServerError)).toMatchObject({ status: 502 });
      }
    });
  });
});

function chat(message: object): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'real-name',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
  };
}
