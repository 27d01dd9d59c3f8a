import type { Message, RawMessageStreamEvent, ToolUseBlock } from '@anthropic-ai/sdk/resources/messages';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { complete, frame, send, startFakeUpstream, streamed, usageFrame } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { createMessagesClient, messagesSdks } from './anthropic-clients.ts';
import type { MessagesClient } from './anthropic-clients.ts';
import type { ChatRequest } from '../../src/wire/chat/chat.ts';

const say = (content: string) => [{ role: 'user' as const, content }];
const base = { model: 'default', max_tokens: 100 };

const weather = {
  name: 'get_weather',
  description: 'How the weather is',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
};

const blocks = (text: string) => [
  { type: 'text' as const, text, cache_control: { type: 'ephemeral' as const } },
];
const textOf = ({ content }: Message): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');

describe.each(messagesSdks)('messages through $name', ({ sdk, isOld }) => {
  let running: RunningApp;
  let upstream: FakeUpstream;
  let client: MessagesClient;

  beforeAll(async () => {
    upstream = await startFakeUpstream();
    // A model that returns reasoning and accepts it back.
    const engine = { ...upstreamEngine(upstream.url), flavor: 'xai' as const };
    const remote = { ...testModel(engine), id: 'remote', aliases: [] };
    running = await startApp({ models: [testModel(), remote] });
    client = createMessagesClient(sdk, running);
  });

  afterAll(async () => {
    await running?.stop();
    await upstream?.close();
  });

  it('accepts further fields of older clients', async () => {
    const older = { temperature: 0.5, top_p: 0.9, top_k: 40, metadata: { user_id: 'u' } };
    const message = await client.messages.create({ ...base, ...older, messages: say('older') });
    expect(textOf(message)).toBe('Echo: older');
  });

  it('streams raw events, the first with the input tokens', async () => {
    const stream = await client.messages.create({ ...base, messages: say('raw'), stream: true });
    const events: RawMessageStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events.map(({ type }) => type)).toEqual([
      'message_start',
      'content_block_start',
      ...events.slice(2, -3).map(() => 'content_block_delta'),
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    const [start] = events;
    expect(start?.type === 'message_start' && start.message.usage.input_tokens).toBeGreaterThan(0);
  });

  it('completes a tool loop', async () => {
    const question = say('How is Rome? [[tool get_weather {"city":"Rome"}]]');
    const first = await client.messages.create({ ...base, messages: question, tools: [weather] });
    expect(first.stop_reason).toBe('tool_use');
    const use = first.content.find((block) => block.type === 'tool_use') as ToolUseBlock;
    expect(use).toMatchObject({ name: 'get_weather', input: { city: 'Rome' } });
    const second = await client.messages.create({
      ...base,
      tools: [weather],
      messages: [
        ...question,
        { role: 'assistant', content: first.content },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: use.id, content: '12 degrees' },
            { type: 'text', text: 'And now?' },
          ],
        },
      ],
    });
    expect([textOf(second), second.stop_reason]).toEqual(['Echo: And now?', 'end_turn']);
  });

  it('estimates the tokens if the upstream cannot count them', async () => {
    const { input_tokens } = await client.messages.countTokens({
      model: 'remote',
      messages: say('x'.repeat(4_000)),
    });
    expect(input_tokens).toBeGreaterThan(999);
    expect(input_tokens).toBeLessThan(1_100);
  });

  it('calls an upstream in its own format, with thinking', async () => {
    upstream.received.length = 0;
    upstream.answer = (response) =>
      send(response, 200, {
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: null,
              reasoning_content: 'Rome it is.',
              tool_calls: [
                {
                  id: 'call_9',
                  type: 'function',
                  function: { name: 'get_weather', arguments: '{"city":"Rome"}' },
                },
              ],
            },
            finish_reason: 'stop',
          },
        ],
        usage: {
          prompt_tokens: 20,
          completion_tokens: 5,
          total_tokens: 25,
          prompt_tokens_details: { cached_tokens: 16 },
        },
      });
    const messages = say('How is Rome?');
    const asked = { ...base, model: 'remote', tools: [weather], stop_sequences: ['END'] };
    const first = await client.messages.create({ ...asked, messages });
    expect(first).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { type: 'thinking', thinking: 'Rome it is.' },
        { type: 'tool_use', id: 'call_9', input: { city: 'Rome' } },
      ],
      usage: { input_tokens: 4, cache_read_input_tokens: 16, output_tokens: 5 },
    });
    upstream.answer = complete('Fine.');
    await client.messages.create({
      ...asked,
      messages: [
        ...messages,
        { role: 'assistant', content: first.content },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'call_9', content: 'broken', is_error: true }],
        },
      ],
    });
    const [one, two] = upstream.received.map(({ text }) => JSON.parse(text) as Record<string, unknown>);
    expect(one).toMatchObject({ model: 'real-name', max_completion_tokens: 100 });
    // Reasoning models of xAI reject stop sequences; Offpeak cuts the answer itself.
    expect(one).not.toHaveProperty('stop');
    expect(two!['messages']).toEqual([
      { role: 'user', content: 'How is Rome?' },
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'Rome it is.',
        tool_calls: [
          { id: 'call_9', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_9', content: 'Error: broken' },
    ]);
  });

  it('streams thinking before text, with a signature', async () => {
    upstream.answer = streamed([
      frame({ role: 'assistant', reasoning_content: 'Hm' }),
      frame({ reasoning_content: '.' }),
      frame({ content: 'So ' }),
      frame({ content: 'be it.' }),
      frame({}, 'stop'),
      usageFrame,
      'data: [DONE]\n\n',
    ]);
    const message = await client.messages
      .stream({ ...base, model: 'remote', messages: say('think') })
      .finalMessage();
    expect(message).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: expect.stringMatching(/.+/) },
        { type: 'text', text: 'So be it.' },
      ],
      usage: { input_tokens: 5, output_tokens: 2 },
    });
  });

  it('supports the beta namespace with any beta', async () => {
    const asked = { model: 'default', messages: say('beta') };
    const betas = ['structured-outputs-2025-11-13', 'interleaved-thinking-2025-05-14'];
    const message = await client.beta.messages.create({ ...asked, max_tokens: 100, betas });
    expect(message.content).toMatchObject([{ type: 'text', text: 'Echo: beta' }]);
    const { input_tokens } = await client.beta.messages.countTokens({ ...asked, betas });
    expect(input_tokens).toBeGreaterThan(0);
  });

  it("runs the client's tool runner until there is an answer", async () => {
    upstream.received.length = 0;
    const toolCall = {
      id: 'call_1',
      type: 'function',
      function: { name: 'get_weather', arguments: '{"city":"Rome"}' },
    };
    const message = { role: 'assistant', content: null, tool_calls: [toolCall] };
    const answers = [
      complete('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }),
      complete('It is fine.'),
    ];
    upstream.answer = (response, request) => answers.shift()!(response, request);
    const asked: unknown[] = [];
    const run = (input: unknown) => {
      asked.push(input);
      return '12 degrees';
    };
    const parse = (input: unknown) => input as { city: string };
    const runner = client.beta.messages.toolRunner({
      ...base,
      model: 'remote',
      messages: say('How is Rome?'),
      tools: [{ ...weather, run, parse }],
    });
    expect((await runner.runUntilDone()).content).toMatchObject([{ type: 'text', text: 'It is fine.' }]);
    expect(asked).toEqual([{ city: 'Rome' }]);
    // Newer clients first try to store the conversation on the server. In both cases the model must see all of it.
    const { messages } = JSON.parse(upstream.received[1]!.text) as { messages: unknown[] };
    expect(messages).toMatchObject([
      { role: 'user', content: 'How is Rome?' },
      { role: 'assistant', tool_calls: [toolCall] },
      { role: 'tool', tool_call_id: 'call_1', content: '12 degrees' },
    ]);
  });

  it('supports the predefined tools of the format with any model: plain, streamed and in the history', async () => {
    upstream.received.length = 0;
    const call = (id: string, name: string, json: string) => ({
      id,
      type: 'function',
      function: { name, arguments: json },
    });
    const ran = call('call_1', 'bash', '{"command":"ls"}');
    const edited = call('call_2', 'str_replace_based_edit_tool', '{"command":"view","path":"/a"}');
    const message = { role: 'assistant', content: null, tool_calls: [ran] };
    upstream.answer = complete('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });
    const asked = {
      ...base,
      model: 'remote',
      tools: [
        { type: 'bash_20250124' as const, name: 'bash' as const },
        { type: 'text_editor_20250728' as const, name: 'str_replace_based_edit_tool' as const },
        { type: 'web_search_20250305' as const, name: 'web_search' as const },
      ],
    };
    const first = await client.messages.create({ ...asked, messages: say('What is here?') });
    expect(first).toMatchObject({
      stop_reason: 'tool_use',
      content: [{ type: 'tool_use', id: 'call_1', name: 'bash', input: { command: 'ls' } }],
    });
    upstream.answer = streamed([
      frame({ tool_calls: [{ index: 0, ...edited, function: { ...edited.function, arguments: '' } }] }),
      frame({ tool_calls: [{ index: 0, function: { arguments: edited.function.arguments } }] }),
      frame({}, 'tool_calls'),
      usageFrame,
      'data: [DONE]\n\n',
    ]);
    const second = await client.messages
      .stream({
        ...asked,
        messages: [
          ...say('What is here?'),
          { role: 'assistant', content: first.content },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'a' }] },
        ],
      })
      .finalMessage();
    expect(second.content).toMatchObject([
      { type: 'tool_use', name: edited.function.name, input: { command: 'view', path: '/a' } },
    ]);
    const sent = upstream.received.map(({ text }) => JSON.parse(text) as ChatRequest);
    for (const { tools } of sent)
      expect(tools).toMatchObject([
        { type: 'function', function: { name: 'bash', parameters: { properties: { command: {} } } } },
        { type: 'function', function: { name: edited.function.name } },
      ]);
    expect(sent[1]!.messages.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: [ran] },
      { role: 'tool', tool_call_id: 'call_1', content: 'a' },
    ]);
  });

  it.skipIf(isOld)('continues a conversation that the client tried to store on the server', async () => {
    upstream.received.length = 0;
    upstream.answer = complete('Yes.');
    const thread = client.beta.messages.thread({ ...base, model: 'remote' });
    for (const content of ['one', 'two', 'three']) await thread.send({ role: 'user', content });
    const seen = upstream.received.map(({ text }) => JSON.parse(text) as { messages: { content: string }[] });
    expect(seen.map(({ messages }) => messages.map(({ content }) => content).join(' '))).toEqual([
      'one',
      'one Yes. two',
      'one Yes. two Yes. three',
    ]);
  });

  it('accepts the fields that an agent sends with every request', async () => {
    const system = ['You are an agent.', 'The folder is /work.'].map((text) => ({
      type: 'text' as const,
      text,
      cache_control: { type: 'ephemeral' as const },
    }));
    const stream = client.messages.stream({
      model: 'default',
      max_tokens: 64_000,
      system,
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
      metadata: { user_id: 'user_1_account__session_2' },
      tools: [weather, { type: 'web_search_20250305', name: 'web_search', max_uses: 8 }],
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: '<system-reminder>x</system-reminder>' }, ...blocks('go on')],
        },
      ],
    });
    expect(textOf(await stream.finalMessage())).toContain('go on');
  });

  it('tells a client that sends only x-api-key what to do', async () => {
    const wrong = new sdk({ baseURL: running.url, apiKey: running.key, authToken: null, maxRetries: 0 });
    const call = wrong.messages.create({ ...base, messages: say('x') });
    if (isOld) await expect(call).rejects.toThrow(/Authorization/);
    else expect(textOf(await call)).toBe('Echo: x');
  });
});
