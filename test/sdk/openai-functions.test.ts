import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { createClient, sdks } from './clients.ts';
import type { Client } from './clients.ts';

// `functions`, the predecessor of tools, for which the official client still has types and helpers.

describe.each(sdks)('functions through $name', ({ sdk }) => {
  let running: RunningApp;
  let client: Client;

  beforeAll(async () => {
    running = await startApp();
    client = createClient(sdk, running);
  });

  afterAll(() => running?.stop());

  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const asked = {
    model: 'default',
    messages: [{ role: 'user' as const, content: 'hi' }],
    functions: [{ name: 'weather', parameters }],
    function_call: { name: 'weather' },
  };

  it('calls a function and continues from its result', async () => {
    const { choices } = await client.chat.completions.create(asked);
    const { message, finish_reason: finish } = choices[0]!;
    expect([finish, message.function_call]).toEqual([
      'function_call',
      { name: 'weather', arguments: '{"city":""}' },
    ]);
    const result = { role: 'function' as const, name: 'weather', content: 'rain' };
    const next = await client.chat.completions.create({
      ...asked,
      messages: [...asked.messages, message, result],
      function_call: 'auto',
    });
    expect(next.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'Echo: hi' } });
  });

  it('assembles a streamed call', async () => {
    const stream = client.chat.completions.stream(asked);
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]).toMatchObject({
      finish_reason: 'function_call',
      message: { role: 'assistant', function_call: { name: 'weather', arguments: '{"city":""}' } },
    });
  });

  const grammar = { syntax: 'regex' as const, definition: '[a-z ]+' };
  const sh = {
    type: 'custom' as const,
    custom: { name: 'sh', format: { type: 'grammar' as const, grammar } },
  };
  const calling = (input: string) => ({
    model: 'default',
    messages: [{ role: 'user' as const, content: `go [[tool sh ${JSON.stringify({ input })}]]` }],
    tools: [sh],
  });

  it('calls a custom tool, plain and streamed, and continues from its result', async () => {
    const question = calling('ls docs');
    const { choices } = await client.chat.completions.create(question);
    const { message, finish_reason: finish } = choices[0]!;
    const called = { id: expect.any(String), type: 'custom', custom: { name: 'sh', input: 'ls docs' } };
    expect([finish, message.tool_calls]).toEqual(['tool_calls', [called]]);
    const result = { role: 'tool' as const, tool_call_id: message.tool_calls![0]!.id, content: 'a file' };
    const next = await client.chat.completions.create({
      ...question,
      messages: [...question.messages, message, result, { role: 'user', content: 'and now?' }],
    });
    expect(next.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'Echo: and now?' } });
    const pieces = [];
    for await (const chunk of await client.chat.completions.create({ ...question, stream: true }))
      pieces.push(...(chunk.choices[0]?.delta.tool_calls ?? []));
    expect(pieces).toEqual([{ index: 0, ...called }]);
  });

  it('enforces the grammar of a custom tool, chosen or forced', async () => {
    const tool_choice = { type: 'custom' as const, custom: { name: 'sh' } };
    for (const request of [{ ...calling('ls'), tool_choice }, calling('LS 9')]) {
      const { choices } = await client.chat.completions.create(request);
      expect(choices[0]!.message.tool_calls).toMatchObject([
        { type: 'custom', custom: { name: 'sh', input: expect.stringMatching(/^[a-z ]+$/) } },
      ]);
    }
  });
});
