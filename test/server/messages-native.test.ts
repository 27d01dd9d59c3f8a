import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import type { Flavor } from '../../src/core/flavor.ts';
import type { FormatSupport } from '../../src/engines/engines.ts';
import { message, send, streamed } from '../support/fake-upstream.ts';
import { startNative } from './support/native.ts';

// Requests of /v1/messages that are passed on unchanged, and those that are translated.

const native = startNative('anthropic', 'messages');
const { sent, start } = native;
const post = (body: object | string) => native.call('', body);
const plain = { model: 'tiny', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
const tool = { name: 'f', input_schema: { type: 'object' } };

describe('a request', () => {
  it('is passed on byte for byte, except for the model name and fields that must not leave', async () => {
    const rest = `"max_tokens" : 9,
      "system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
      "tools":[{"type":"web_search_20250305","name":"web_search"}],
      "thinking":{"type":"adaptive"},
      "messages":[{"role":"user","content":"hi"},
        {"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"EqoB"},
          {"type":"tool_use","id":"toolu_1","name":"f","input":{"id":12345678901234567890}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}]}`;
    const answer = await post(`{"model":"tiny","service_tier":"auto","mcp_servers":[],"metadata":{},${rest}`);
    expect(answer.status).toBe(200);
    expect(sent().path).toBe('/v1/messages');
    expect(sent().text.replaceAll(/\s/g, '')).toBe(`{"model":"real-name",${rest}`.replaceAll(/\s/g, ''));
  });

  it('has the betas of its tools, and those of the client that the operator allows', async () => {
    const asked = { ...plain, tools: [{ type: 'memory_20250818', name: 'memory' }] };
    const betasOf = async (body: object, betas: string) => {
      await native.call('', body, { 'anthropic-beta': betas });
      return sent().headers['anthropic-beta'];
    };
    for (const stream of [false, true])
      expect(await betasOf({ ...asked, stream }, 'context-1m-2025-08-07')).toBe(
        'context-management-2025-06-27',
      );
    expect(await betasOf(plain, 'context-1m-2025-08-07')).toBeUndefined();
    await start('anthropic', undefined, ['anthropic-beta']);
    expect(await betasOf(asked, 'context-1m-2025-08-07, context-management-2025-06-27')).toBe(
      'context-management-2025-06-27,context-1m-2025-08-07',
    );
    expect(await betasOf(plain, ' ,')).toBeUndefined();
    expect(sent().text).not.toContain('anthropic-beta');
  });

  it('is validated first', async () => {
    const answer = await post({ ...plain, messages: [{ role: 'user', content: 7 }] });
    expect(answer.status).toBe(422);
    const input_schema = { type: 'object', properties: { a: { $ref: '#/nowhere' } } };
    expect((await post({ ...plain, tools: [{ name: 'f', strict: true, input_schema }] })).status).toBe(422);
    expect(native.fake.received).toEqual([]);
  });

  const promised: [string, object][] = [
    ['a forced tool', { tools: [tool], tool_choice: { type: 'any' } }],
    ['a strict tool', { tools: [{ ...tool, strict: true }] }],
    ['at most one call', { tools: [tool], tool_choice: { type: 'auto', disable_parallel_tool_use: true } }],
    ['a format', { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } }],
    [
      'thinking with our mark',
      {
        messages: [
          ...plain.messages,
          { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 'offpeak1.' }] },
          ...plain.messages,
        ],
      },
    ],
  ];
  // Only a request that is passed on may have this field.
  const mark = { context_management: { edits: [] } };

  it.each(promised)('with %s is translated, because Offpeak provides the guarantee', async (_, fields) => {
    await post({ ...plain, ...mark, ...fields });
    expect(native.fake.received.length).toBeGreaterThan(0);
    for (const { text } of native.fake.received)
      expect(JSON.parse(text)).not.toHaveProperty('context_management');
  });

  it.each(promised.slice(0, 4))(
    'with %s is passed on to another Offpeak, which provides the guarantee',
    async (_, fields) => {
      await start('offpeak');
      await post({ ...plain, ...mark, ...fields });
      expect(sent().path).toBe('/v1/messages');
      expect(JSON.parse(sent().text)).toEqual({ ...plain, ...mark, ...fields, model: 'real-name' });
    },
  );

  it.each<[Flavor, FormatSupport | undefined, string]>([
    ['vllm', undefined, '/v1/chat/completions'],
    ['vllm', 'native', '/v1/messages'],
    ['offpeak', 'via chat', '/v1/chat/completions'],
  ])('to %s, configured as %s, goes to %s', async (flavor, speech, path) => {
    await start(flavor, speech);
    expect((await post(plain)).status).toBe(200);
    expect(sent().path).toBe(path);
  });
});

const usage = {
  input_tokens: 10,
  cache_creation_input_tokens: 20,
  cache_read_input_tokens: 30,
  output_tokens: 7,
};

describe('an answer', () => {
  it('is returned byte for byte, except for its ID and model', async () => {
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature: 'EqoB' },
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
      { type: 'text', text: 'Hi.', citations: [{ type: 'char_location', cited_text: 'x' }] },
    ];
    const given = message('', { content, usage: { ...usage, service_tier: 'standard' } });
    native.fake.answer = (response) => send(response, 200, given);
    const answer = (await (await post(plain)).json()) as { id: string };
    expect(answer).toEqual({ ...given, id: answer.id, model: 'tiny' });
    expect(answer.id).toMatch(/^msg_[0-9a-f]{32}$/);
  });

  it('that is not a message becomes an error', async () => {
    native.fake.answer = (response) => send(response, 200, { choices: [] });
    expect((await post(plain)).status).toBe(502);
  });

  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  const opening = event('message_start', {
    message: message('', { content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } }),
  });
  const middle =
    event('content_block_start', {
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    }) +
    event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } }) +
    event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'EqoB' } }) +
    event('content_block_stop', { index: 0 }) +
    event('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }) +
    event('content_block_delta', { index: 1, delta: { type: 'text_delta', text: 'Hi.' } }) +
    event('content_block_stop', { index: 1 });
  const end =
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 7 },
    }) + event('message_stop', {});

  it('streams event by event, byte for byte', async () => {
    native.fake.answer = streamed([opening, event('ping', {}), middle, end]);
    const text = await (await post({ ...plain, stream: true })).text();
    const id = /"id":"(msg_[0-9a-f]{32})"/.exec(text)![1]!;
    const renamed = opening
      .replace('"msg_1"', `"${id}"`)
      .replace('"real-name"', '"tiny"')
      .replace('"output_tokens":1', '"output_tokens":1,"service_tier":"standard"');
    expect(text).toBe(renamed + event('ping', {}) + middle + end);
    expect(JSON.parse(sent().text)).toEqual({ ...plain, model: 'real-name', stream: true });
  });

  it('streams without foreign events, and accepts events named only in their data', async () => {
    const nameless = middle.replaceAll(/^event: .*\n/gm, '');
    native.fake.answer = streamed([opening, 'data: {"object":"x"}\n\ndata: [DONE]\n\n', nameless, end]);
    expect(await (await post({ ...plain, stream: true })).text()).toContain(middle + end);
  });

  it('streams to the official client', async () => {
    native.fake.answer = streamed([opening, middle, end]);
    const client = new Anthropic({
      baseURL: native.running.url,
      authToken: native.running.key,
      apiKey: null,
    });
    const { content } = await client.messages
      .stream({ model: 'tiny', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] })
      .finalMessage();
    expect(content).toMatchObject([{ thinking: 'Hm.', signature: 'EqoB' }, { text: 'Hi.' }]);
  });

  it.each([
    ['stops in the middle', opening + middle, 'api_error'],
    [
      'breaks',
      opening + event('error', { error: { type: 'overloaded_error', message: 'x' } }),
      'overloaded_error',
    ],
    [
      'breaks without a name',
      `${opening}data: {"error":{"message":"secret","code":429}}\n\n`,
      'overloaded_error',
    ],
  ])('that %s ends with an error', async (_, given, type) => {
    native.fake.answer = streamed([given]);
    const text = await (await post({ ...plain, stream: true })).text();
    expect(text).not.toContain('secret');
    const last = text.trim().split('\n\n').at(-1)!;
    expect(last).toMatch(/^event: error\n/);
    expect(JSON.parse(last.split('data: ')[1]!)).toMatchObject({ error: { type } });
  });
});
