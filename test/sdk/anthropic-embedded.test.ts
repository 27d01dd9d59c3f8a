import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, testModel } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { createMessagesClient, messagesSdks } from './anthropic-clients.ts';

// The same clients with the model in the repository: real tokens, template and grammar.

let running: RunningApp;

beforeAll(async () => {
  const path = fileURLToPath(new URL('../../models/offpeak-tiny.gguf', import.meta.url));
  const engine = { kind: 'llama', path, sequences: 2, context: 'auto', threads: 'auto' } as const;
  running = await startApp({ models: [testModel({ ...engine, flashAttention: false })] });
});

afterAll(() => running?.stop());

const base = { model: 'default', max_tokens: 60 };
const say = (content: string) => [{ role: 'user' as const, content }];
const note = {
  name: 'note',
  input_schema: {
    type: 'object' as const,
    properties: {
      name: { type: 'string', maxLength: 20 },
      age: { type: 'integer', minimum: 0, maximum: 120 },
    },
    required: ['name', 'age'],
    additionalProperties: false,
  },
};

describe.each(messagesSdks)('the embedded model through $name', ({ sdk }) => {
  it('answers plain and streamed, and counts input tokens', async () => {
    const client = createMessagesClient(sdk, running);
    const asked = { ...base, system: 'Answer briefly.', messages: say('What is the capital of France?') };
    const message = await client.messages.create(asked);
    expect(message.content).toMatchObject([{ type: 'text', text: expect.stringMatching(/\w/) }]);
    expect(message.stop_reason).toMatch(/^(end_turn|max_tokens)$/);
    const { max_tokens: _, ...counted } = asked;
    const { input_tokens: tokens } = await client.messages.countTokens(counted);
    const used = message.usage;
    expect(used.input_tokens + (used.cache_read_input_tokens ?? 0)).toBe(tokens);
    const starts: object[] = [];
    const stream = client.messages.stream(asked);
    stream.on('streamEvent', (event) => {
      if (event.type === 'message_start') starts.push({ ...event.message.usage });
    });
    const streamed = await stream.finalMessage();
    const { cache_read_input_tokens: read } = streamed.usage;
    expect(read).toBeGreaterThan(0);
    expect(starts).toMatchObject([
      { input_tokens: tokens - read!, cache_read_input_tokens: read, output_tokens: 0 },
    ]);
    expect(streamed.usage.output_tokens).toBeGreaterThan(0);
    expect(streamed.usage.input_tokens + (streamed.usage.cache_read_input_tokens ?? 0)).toBe(tokens);
  });

  it('calls the forced tool and reads its result', async () => {
    const client = createMessagesClient(sdk, running);
    const asked = { ...base, messages: say('Note Alan Turing, 41'), tools: [note] };
    const forced = { ...asked, tool_choice: { type: 'tool' as const, name: 'note' } };
    for (const message of [
      await client.messages.create(forced),
      await client.messages.stream(forced).finalMessage(),
    ]) {
      expect(message.stop_reason).toBe('tool_use');
      expect(message.content).toMatchObject([
        { type: 'tool_use', name: 'note', input: { name: expect.any(String), age: expect.any(Number) } },
      ]);
    }
    const { content } = await client.messages.create(forced);
    const [use] = content;
    if (use?.type !== 'tool_use') throw new Error('no call');
    const answer = await client.messages.create({
      ...asked,
      messages: [
        ...asked.messages,
        { role: 'assistant', content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'noted' }] },
      ],
    });
    expect(answer.usage.output_tokens).toBeGreaterThan(0);
  });

  it('conforms to a schema', async () => {
    const client = createMessagesClient(sdk, running);
    const format = { type: 'json_schema' as const, schema: note.input_schema };
    const { content } = await client.messages.create({
      ...base,
      messages: say('Ada Lovelace, 36'),
      output_config: { format },
    });
    const [block] = content;
    expect(JSON.parse(block?.type === 'text' ? block.text : '')).toMatchObject({
      name: expect.any(String),
      age: expect.any(Number),
    });
  });

  it('names the part of a message that it cannot read', async () => {
    const client = createMessagesClient(sdk, running);
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: 'iVBORw0KGgo=' };
    const messages = [
      {
        role: 'user' as const,
        content: [
          { type: 'text' as const, text: 'see' },
          { type: 'image' as const, source },
        ],
      },
    ];
    const call = client.messages.create({ ...base, messages });
    await expect(call).rejects.toMatchObject({
      status: 422,
      message: expect.stringMatching(/^422 messages\[0\]\.content\[1\]: this model takes no images/),
    });
  });
});
