import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Json, type RunningServer, startServer } from './support/start-server.ts';

// Requests recorded from third-party programs, and the constraints that those programs put on answers.

let app: RunningServer;
beforeAll(async () => void (app = await startServer()));
afterAll(() => app.stop());

const post = (path: string, json: unknown, headers = {}) => app.call('POST', path, { json, headers });

/** Returns the data of the events of a stream. */
function eventsOf(text: string): Json[] {
  return Array.from(text.matchAll(/^data: (\{.*)$/gm), ([, data]) => JSON.parse(data!));
}

describe('@ai-sdk/anthropic 3, also in Mastra', () => {
  const text = z.object({
    type: z.literal('text'),
    text: z.string(),
    citations: z.array(z.object({ type: z.string() })).optional(),
  });
  const request = {
    model: 'tiny',
    max_tokens: 4096,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
  };

  it('accepts a text without citations and rejects citations: null', async () => {
    const { json } = await post('/v1/messages', request);
    z.array(text).parse(json.content);
    const streamed = await post('/v1/messages', { ...request, stream: true });
    const starts = eventsOf(streamed.text).filter(({ type }) => type === 'content_block_start');
    expect(starts).toHaveLength(1);
    text.parse(starts[0].content_block);
  });
});

describe('@langchain/anthropic 1', () => {
  it('reads input and cached tokens from the start of a stream', async () => {
    const request = {
      model: 'tiny',
      max_tokens: 4096,
      messages: [{ role: 'user', content: `hello ${'again and '.repeat(30)}` }],
      stream: true,
    };
    await post('/v1/messages', request);
    const events = eventsOf((await post('/v1/messages', request)).text);
    const begun = events[0].message.usage;
    const ended = events.at(-2).usage;
    expect(begun.cache_read_input_tokens).toBeGreaterThan(0);
    expect(begun).toEqual({ ...ended, output_tokens: 0, service_tier: 'standard' });
  });
});

describe('@openai/agents 0.20', () => {
  const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
  const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };

  it('sends messages back with null for missing fields', async () => {
    const said = { type: 'text', text: 'Sunny.', refusal: null, providerData: null };
    const { status, json } = await post('/v1/chat/completions', {
      model: 'tiny',
      tools,
      messages: [
        { role: 'system', content: 'be kind' },
        { role: 'user', content: 'how is it?' },
        { role: 'assistant', content: null, refusal: null, tool_calls: [{ ...call, custom: null }] },
        { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
        { role: 'assistant', content: [said] },
        { role: 'user', content: [{ type: 'text', text: 'and now?', image_url: null, file: null }] },
      ],
      response_format: { type: 'text', json_schema: null },
    });
    expect([status, json.choices?.[0].message.content]).toEqual([200, 'Echo: and now?']);
  });

  it('sends the same to responses', async () => {
    const { status, json } = await post('/v1/responses', {
      model: 'tiny',
      tools: [{ type: 'function', name: 'weather', function: null, parameters: null, strict: null }],
      tool_choice: { type: 'function', name: 'weather', function: null, mode: null, tools: null },
      input: [
        { type: null, id: null, role: 'user', content: 'how is it?', status: null },
        { type: 'reasoning', id: null, summary: [{ type: 'summary_text', text: null }], content: null },
        { role: 'assistant', content: [{ type: 'output_text', text: 'Sunny.', refusal: null }] },
        { role: 'user', content: [{ type: 'input_text', text: 'and now?', input_audio: null }] },
      ],
    });
    expect([status, json.output?.[0].name]).toEqual([200, 'weather']);
  });
});

describe('LiteLLM as a client of batches', () => {
  const seconds = z.int();
  const batch = z.object({
    id: z.string(),
    object: z.literal('batch'),
    created_at: seconds,
    expires_at: seconds.nullish(),
    in_progress_at: seconds.nullish(),
    completed_at: seconds.nullish(),
    cancelling_at: seconds.nullish(),
    cancelled_at: seconds.nullish(),
    failed_at: seconds.nullish(),
    expired_at: seconds.nullish(),
  });

  it('accepts a batch with Unix timestamps and rejects any other', async () => {
    const told = await startServer({ dates: 'unix' });
    try {
      const requests = [
        {
          custom_id: 'a',
          method: 'POST',
          url: '/v1/chat/completions',
          body: { model: 'tiny', messages: [{ role: 'user', content: 'x' }] },
        },
      ];
      const json = { endpoint: '/v1/chat/completions', completion_window: '24h', requests };
      const created = batch.parse((await told.call('POST', '/v1/batches', { json })).json);
      const path = `/v1/batches/${created.id}`;
      const [last] = eventsOf((await told.call('GET', `${path}/events`)).text).slice(-1);
      expect(batch.parse(last).completed_at).toBeGreaterThanOrEqual(created.created_at);
      batch.parse((await told.call('GET', path)).json);
      batch.parse((await told.call('GET', '/v1/batches')).json.data[0]);
      // No response of these calls has a time in another form.
      for (const address of [path, '/v1/batches', `${path}/events`])
        expect((await told.call('GET', address)).text).not.toMatch(/\d{4}-\d\d-\d\dT/);
    } finally {
      await told.stop();
    }
  });
});

describe('Codex 0.144 and later, with model names that it knows', () => {
  const exec = { type: 'custom', name: 'exec', description: 'Runs JavaScript.', format: { type: 'text' } };
  const wait = { type: 'function', name: 'wait', strict: false, parameters: { type: 'object' } };
  const tools = [
    { type: 'namespace', name: 'functions', description: '', tools: [exec, wait] },
    { type: 'namespace', name: 'mcp__docs', description: 'Docs.', tools: [{ ...wait, name: 'search' }] },
    { type: 'tool_search', execution: 'client', description: 'x', parameters: { type: 'object' } },
  ];
  const message = (role: string, type: string, text: string) => ({
    type: 'message',
    role,
    content: [{ type, text }],
  });
  const request = (input: object[]) => ({
    model: 'tiny',
    instructions: '',
    input: [
      { type: 'additional_tools', role: 'developer', tools },
      message('developer', 'input_text', 'You are Codex.'),
      ...input,
    ],
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { effort: 'medium', summary: 'auto' },
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: '01a0',
    client_metadata: { 'x-codex-installation-id': '0' },
  });
  /** Parts of a stream that Codex uses. */
  const itemsOf = (text: string) =>
    eventsOf(text).flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []));

  it.each([
    ['exec', 'custom_tool_call', { namespace: 'functions', name: 'exec', input: 'pwd' }],
    [
      'mcp__docs__search',
      'function_call',
      { namespace: 'mcp__docs', name: 'search', arguments: '{"input":"pwd"}' },
    ],
  ])('completes a loop with %s, which arrives as %s', async (called, type, expected) => {
    const asked = message('user', 'input_text', `go [[tool ${called} {"input":"pwd"}]]`);
    const [made] = itemsOf((await post('/v1/responses', request([asked]))).text);
    expect(made).toMatchObject({ type, ...expected });
    const { id: _, ...call } = made;
    const output = { type: `${type}_output`, call_id: call.call_id, output: '/home' };
    const next = request([asked, call, output, message('user', 'input_text', 'thanks')]);
    const { text } = await post('/v1/responses', next);
    expect(itemsOf(text)).toMatchObject([{ type: 'message', content: [{ text: 'Echo: thanks' }] }]);
    expect(eventsOf(text).at(-1)).toMatchObject({ type: 'response.completed' });
  });
});
