import OpenAI from 'openai';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Flavor } from '../../src/core/flavor.ts';
import type { FormatSupport } from '../../src/engines/engines.ts';
import { responseObject, send, streamed } from '../support/fake-upstream.ts';
import { startNative } from './support/native.ts';

// Requests of /v1/responses that are passed on unchanged, and those that are translated.

const native = startNative('openai', 'responses');
const { call, sent, start } = native;

interface Body {
  id: string;
  status: string;
  output: Record<string, unknown>[];
  usage: Record<string, unknown>;
  [name: string]: unknown;
}

const post = (body: object | string) => call('', body);
const read = async (answer: Response) => (await answer.json()) as Body;
const sentBody = () => JSON.parse(sent().text) as Record<string, unknown>;
const plain = { model: 'tiny', input: 'hi' };
const tool = { type: 'function', name: 'f', parameters: { type: 'object' } };
const reasoning = { id: 'rs_theirs', type: 'reasoning', summary: [], encrypted_content: 'gAAAA' };
const custom = { id: 'ctc_1', type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: '*** x' };
const theirMessage = {
  id: 'msg_theirs',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  phase: 'final_answer',
  content: [{ type: 'output_text', text: 'Hi.', annotations: [{ type: 'url_citation' }], logprobs: [] }],
};
const output = [reasoning, custom, theirMessage];
const usage = {
  input_tokens: 60,
  input_tokens_details: { cached_tokens: 30 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 67,
};

describe('a request', () => {
  it('is passed on byte for byte, except for the model name and fields that must not leave', async () => {
    const rest = `"input" : [{"role":"user","content":"hi"},
      {"type":"reasoning","summary":[],"encrypted_content":"gAAAA"},
      {"type":"custom_tool_call","call_id":"call_1","name":"patch","input":"*** x"},
      {"type":"custom_tool_call_output","call_id":"call_1","output":"done"}],
      "tools":[{"type":"custom","name":"patch","format":{"type":"text"}}],"top_p":1.0,"prompt_cache_key":"k"}`;
    const stays = `"service_tier":"flex","metadata":{"a":"b"},"safety_identifier":"u","truncation":"auto",`;
    const answer = await post(`{"model":"tiny",${stays}${rest}`);
    expect(answer.status).toBe(200);
    expect(sent().path).toBe('/v1/responses');
    const { model, store, ...others } = sentBody();
    expect([model, store]).toEqual(['real-name', false]);
    expect(others).toEqual(JSON.parse(`{${rest}`));
    expect(sent().text).toContain('"top_p":1.0');
  });

  it("passes on screenshots of the client's computer", async () => {
    const picture = { type: 'computer_screenshot', image_url: 'data:image/png;base64,iVBORw0KGgo=' };
    const input = [
      { role: 'user', content: 'hi' },
      { type: 'computer_call_output', call_id: 'c', output: picture },
    ];
    expect((await post({ ...plain, input })).status).toBe(200);
    expect(sentBody()['input']).toEqual(input);
  });

  it('passes on messages of other agents, as text unless they are encrypted', async () => {
    const from = { type: 'agent_message', author: '/root', recipient: '/root/child' };
    const said = (text: string) => [
      { type: 'input_text', text: 'Payload: ' },
      { type: 'encrypted_content', encrypted_content: text },
    ];
    await post({ ...plain, input: [{ ...from, content: said('Count.') }] });
    const parts = ['Payload: ', 'Count.'].map((text) => ({ type: 'input_text', text }));
    expect(sentBody()['input']).toMatchObject([{ type: 'message', role: 'user', content: parts }]);
    const sealed = { ...from, content: said('gAAAAABpZ1') };
    await post({ ...plain, input: [sealed] });
    expect(sentBody()['input']).toEqual([sealed]);
  });

  it('is sent without our IDs, nested functions and tools that a provider would bill', async () => {
    await post(
      `{"model":"tiny","input":[{"id":"msg_1","role":"user","content":"hi"},
        {"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}],
          "content":[{"type":"reasoning_text","text":"Hm."}]}],
        "tools":[{"type":"web_search"},{"type":"function","function":{"name":"f","parameters":{"type":"object",
        "properties":{"n":{"const":12345678901234567890}}}}}]}`,
    );
    expect(sentBody()['input']).toEqual([{ role: 'user', content: 'hi' }]);
    expect(sent().text).toContain(
      '"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"n":{"const":12345678901234567890}}}}]',
    );
  });

  it('requests encrypted reasoning if the model reasons', async () => {
    await post({ ...plain, reasoning: { effort: 'low' }, include: ['message.output_text.logprobs'] });
    expect(sentBody()['include']).toEqual(['message.output_text.logprobs', 'reasoning.encrypted_content']);
  });

  it('is validated first', async () => {
    expect((await post({ ...plain, input: 7 })).status).toBe(422);
    const parameters = { type: 'object', properties: { a: { $ref: '#/nowhere' } } };
    expect((await post({ ...plain, tools: [{ ...tool, parameters, strict: true }] })).status).toBe(422);
    const shown = (picture: object) => ({
      input: [{ type: 'computer_call_output', call_id: 'c', output: picture }],
    });
    const elsewhere = await post({ ...plain, ...shown({ image_url: 'http://10.0.0.1/x' }) });
    expect(await elsewhere.text()).toContain('input[0].output.image_url: expected a data: URL');
    expect((await post({ ...plain, ...shown({ file_id: 'file-theirs' }) })).status).toBe(422);
    expect(native.fake.received).toEqual([]);
  });

  const promised: [string, object][] = [
    ['a forced tool', { tools: [tool], tool_choice: 'required' }],
    ['a strict tool', { tools: [{ ...tool, strict: true }] }],
    ['at most one call', { tools: [tool], parallel_tool_calls: false }],
    ['a format', { text: { format: { type: 'json_object' } } }],
  ];

  it.each(promised)('with %s is translated, because Offpeak provides the guarantee', async (_, fields) => {
    await post({ ...plain, ...fields });
    expect(native.fake.received.length).toBeGreaterThan(0);
    expect(new Set(native.fake.received.map(({ path }) => path))).toEqual(new Set(['/v1/chat/completions']));
  });

  it.each(promised)(
    'with %s is passed on to another Offpeak, which provides the guarantee',
    async (_, fields) => {
      await start('offpeak');
      await post({ ...plain, ...fields });
      expect(sent().path).toBe('/v1/responses');
      expect(sentBody()).toEqual({ ...plain, ...fields, model: 'real-name', store: false });
    },
  );

  it.each<[Flavor, FormatSupport | undefined, string]>([
    ['vllm', undefined, '/v1/chat/completions'],
    ['azure', undefined, '/v1/chat/completions'],
    ['vllm', 'native', '/v1/responses'],
    ['openai', 'via chat', '/v1/chat/completions'],
  ])('to %s, configured as %s, goes to %s', async (flavor, speech, path) => {
    await start(flavor, speech);
    expect((await post(plain)).status).toBe(200);
    expect(sent().path).toBe(path);
  });
});

describe('an answer', () => {
  beforeEach(() => {
    native.fake.answer = (reply) =>
      send(reply, 200, responseObject('', { output, usage, service_tier: 'flex', moderation: null }));
  });

  it('is returned and stored unchanged, under our IDs and names', async () => {
    const answer = await post({ ...plain, metadata: { a: 'b' } });
    const body = await read(answer);
    expect(body).toMatchObject({
      model: 'tiny',
      metadata: { a: 'b' },
      store: true,
      service_tier: 'default',
      moderation: null,
      status: 'completed',
      usage: { ...usage, input_tokens_details: { cached_tokens: 30 } },
    });
    expect(body.id).toMatch(/^resp_[0-9a-f]{32}$/);
    expect(body['created_at']).not.toBe(5);
    const digits = body.id.slice(5);
    expect(body.output).toEqual([
      { ...reasoning, id: `rs_${digits}0000` },
      { ...custom, id: `ctc_${digits}0001` },
      { ...theirMessage, id: `msg_${digits}0002` },
    ]);
    expect(await read(await call(`/${body.id}`))).toEqual(body);
  });

  it('is continued with its full content, because the upstream does not store it', async () => {
    const { id } = await read(await post(plain));
    await post({ model: 'tiny', input: 'And?', previous_response_id: id });
    const { id: _, ...rest } = reasoning;
    const { id: __, ...patch } = custom;
    expect(sentBody()).toMatchObject({
      store: false,
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
        rest,
        patch,
        { role: 'assistant', phase: 'final_answer' },
        { role: 'user', content: [{ type: 'input_text', text: 'And?' }] },
      ],
    });
    expect(sentBody()).not.toHaveProperty('previous_response_id');
    expect(sent().text).not.toContain(id.slice(5));
  });

  it('is created in the background and then replayed as events', async () => {
    const { id, status } = await read(await post({ ...plain, background: true }));
    expect(status).toBe('queued');
    await expect.poll(async () => (await read(await call(`/${id}`))).status).toBe('completed');
    expect(sentBody()).not.toHaveProperty('background');
    const text = await (await call(`/${id}?stream=true`)).text();
    const types = [...text.matchAll(/^event: response\.(.+)$/gm)].map(([, type]) => type);
    expect(types.join(' ')).toBe(
      'created queued in_progress output_item.added output_item.done output_item.added output_item.done ' +
        'output_item.added content_part.added output_text.delta output_text.done content_part.done ' +
        'output_item.done completed',
    );
    expect(text).toContain('"encrypted_content":"gAAAA"');
    expect(text).toContain('"input":"*** x"');
  });

  it.each([
    ['is not a response', { choices: [] }, 'invalid_upstream_response'],
    ['is not finished', responseObject('', { status: 'in_progress' }), 'invalid_upstream_response'],
    ['failed', responseObject('', { status: 'failed', error: { code: 'server_error' } }), 'upstream_error'],
  ])('that %s becomes an error', async (_, given, code) => {
    native.fake.answer = (reply) => send(reply, 200, given);
    const answer = await post(plain);
    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject({ error: { code } });
  });

  it('has estimated usage if the upstream reports none', async () => {
    const called = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"x":1}' };
    const given = [{ ...reasoning, summary: [{ type: 'summary_text', text: 'Hm.' }] }, theirMessage, called];
    native.fake.answer = (reply) => send(reply, 200, responseObject('', { output: given, usage: null }));
    expect((await read(await post(plain))).usage).toMatchObject({ output_tokens: 4 });
  });

  it('that fails because of the prompt is reported as refused', async () => {
    const error = { code: 'invalid_prompt', message: 'It was flagged.' };
    native.fake.answer = (reply) =>
      send(reply, 200, responseObject('', { status: 'failed', error, output: [] }));
    const answer = await post(plain);
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: 'request_refused' } }]);
  });
});

describe('a stream', () => {
  let n = 0;
  const event = (type: string, fields: object) =>
    `event: response.${type}\ndata: ${JSON.stringify({ type: `response.${type}`, sequence_number: n++, ...fields })}\n\n`;
  const at = { item_id: 'msg_theirs', output_index: 0 };
  const begun = { ...theirMessage, status: 'in_progress', content: [] };
  const part = theirMessage.content[0]!;
  const opening =
    event('created', { response: responseObject('', { status: 'in_progress', output: [], usage: null }) }) +
    event('output_item.added', { output_index: 0, item: begun }) +
    event('content_part.added', { ...at, content_index: 0, part: { ...part, text: '' } }) +
    event('output_text.delta', { ...at, content_index: 0, delta: 'Hi', obfuscation: 'x' }) +
    event('output_text.delta', { ...at, content_index: 0, delta: '.' });
  const ending =
    event('output_text.done', { ...at, content_index: 0, text: 'Hi.' }) +
    event('content_part.done', { ...at, content_index: 0, part }) +
    event('output_item.done', { output_index: 0, item: theirMessage });
  const last = event('completed', { response: responseObject('', { output: [theirMessage], usage }) });

  const dataOf = (text: string) =>
    [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data!) as Body & { type: string });

  it('is forwarded event by event under our IDs and numbers, and stored', async () => {
    native.fake.answer = streamed([opening, ending + last]);
    const answer = await post({ ...plain, stream: true });
    const text = await answer.text();
    const events = dataOf(text);
    const given = dataOf(opening + ending + last);
    expect(events.map(({ type }) => type)).toEqual(given.map(({ type }) => type));
    expect(events.map((each) => each['sequence_number'])).toEqual(events.map((_, index) => index));
    expect(text).not.toContain('theirs');
    expect(text).not.toContain('real-name');
    const { response: body } = events.at(-1) as unknown as { response: Body };
    const itemId = `msg_${body.id.slice(5)}0000`;
    expect(events[3]).toMatchObject({ item_id: itemId, delta: 'Hi', obfuscation: 'x' });
    expect(body).toMatchObject({ model: 'tiny', output: [{ ...theirMessage, id: itemId }] });
    expect(await read(await call(`/${body.id}`))).toEqual(body);
    expect(sentBody()).toEqual({ ...plain, model: 'real-name', stream: true, store: false });
  });

  it('reaches the official client without foreign events', async () => {
    const life = 'event: keepalive\ndata: {"type":"keepalive","sequence_number":0}\n\n';
    native.fake.answer = streamed([life, opening, 'data: {"object":"x"}\n\ndata: [DONE]\n\n', ending, last]);
    const client = new OpenAI({ baseURL: `${native.running.url}/v1`, apiKey: native.running.key });
    const final = await client.responses.stream({ model: 'tiny', input: 'hi' }).finalResponse();
    expect(final.output_text).toBe('Hi.');
  });

  it('has reasoning in parts that clients know, whatever the upstream calls them', async () => {
    const thought = { type: 'reasoning_text', text: 'Hm.' };
    const item = { id: 'rs_1', type: 'reasoning', summary: [], content: [thought] };
    const of = { item_id: 'rs_1', output_index: 0, content_index: 0 };
    native.fake.answer = streamed([
      event('created', { response: responseObject('', { status: 'in_progress', output: [], usage: null }) }),
      event('output_item.added', { output_index: 0, item: { ...item, content: [] } }),
      event('reasoning_part.added', { ...of, part: { ...thought, text: '' } }),
      event('reasoning_text.delta', { ...of, delta: 'Hm.' }),
      event('reasoning_text.done', { ...of, text: 'Hm.' }),
      event('reasoning_part.done', { ...of, part: thought }),
      event('output_item.done', { output_index: 0, item }),
      event('completed', { response: responseObject('', { output: [item], usage }) }),
    ]);
    const client = new OpenAI({ baseURL: `${native.running.url}/v1`, apiKey: native.running.key });
    const final = await client.responses.stream({ model: 'tiny', input: 'hi' }).finalResponse();
    expect(final.output).toMatchObject([{ type: 'reasoning', content: [thought] }]);
  });

  it.each([
    ['stops in the middle', opening, 'invalid_upstream_response'],
    [
      'breaks',
      opening +
        event('failed', { response: responseObject('', { error: { code: 'server_error', message: 'x' } }) }),
      'upstream_error',
    ],
    [
      'is refused',
      `${opening}event: error\ndata: {"type":"error","code":"rate_limit_exceeded","message":"x"}\n\n`,
      'engine_overloaded',
    ],
    [
      'breaks without a name',
      `${opening}data: {"error":{"message":"secret","type":"server_error","code":500}}\n\n`,
      'upstream_error',
    ],
  ])('that %s ends with an error, and is stored as failed', async (_, given, code) => {
    native.fake.answer = streamed([given]);
    const answer = await post({ ...plain, stream: true });
    const text = await answer.text();
    expect(text).not.toContain('secret');
    const events = dataOf(text);
    expect(events.at(-1)).toMatchObject({ type: 'error', code });
    const { response: begunBody } = events[0] as unknown as { response: Body };
    expect(await read(await call(`/${begunBody.id}`))).toMatchObject({
      status: 'failed',
      output: [{ status: 'incomplete' }],
    });
  });
});
