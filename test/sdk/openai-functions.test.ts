import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { createClient, sdks } from './clients.ts';
import type { Client } from './clients.ts';

// The older form of tools, which the official client still has types and helpers for.

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

  it('calls one, and goes on from its result', async () => {
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

  it('puts a streamed call together', async () => {
    const stream = client.chat.completions.stream(asked);
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]).toMatchObject({
      finish_reason: 'function_call',
      message: { role: 'assistant', function_call: { name: 'weather', arguments: '{"city":""}' } },
    });
  });
});
