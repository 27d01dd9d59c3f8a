import { describe, expect, it, onTestFinished } from 'vitest';
import type { Flavor } from '../../../src/core/flavor.ts';
import {
  frame,
  message,
  send,
  startFakeUpstream,
  streamed,
  usageFrame,
} from '../../support/fake-upstream.ts';
import type { ChatRequest } from '../../../src/wire/chat/chat.ts';
import { parseChatRequest } from '../../../src/wire/chat/request/request.ts';
import { ask, call, collect, engineAt } from './setup.ts';

// Tool names longer than 64 characters are shortened for servers that reject them, and unchanged for others; clients see the
// original names.

const name = `mcp__${'server'.repeat(15)}__read`;
const fields: Partial<ChatRequest> = {
  tools: [{ type: 'function', function: { name, parameters: { type: 'object' } } }],
  tool_choice: { type: 'function', function: { name } },
  messages: [
    { role: 'user', content: 'hi' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call00001', type: 'function', function: { name, arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call00001', content: 'x' },
  ],
};

async function upstream(flavor: Flavor) {
  const fake = await startFakeUpstream();
  onTestFinished(() => fake.close());
  const engine = engineAt(fake.url, { flavor });
  onTestFinished(() => engine.stop());
  return { fake, engine, request: parseChatRequest(ask(fields).text).body };
}

const sentName = (text: string) =>
  (JSON.parse(text) as { tools: { function: { name: string } }[] }).tools[0]!.function.name;

describe.each<Flavor>(['openai', 'azure', 'gemini', 'mistral', 'deepseek', 'xai', 'openrouter', 'generic'])(
  '%s',
  (flavor) => {
    it('gets a short name, and its call has the original one, also in a stream', async () => {
      const { fake, engine, request } = await upstream(flavor);
      fake.answer = (response, received) => {
        const called = {
          id: 'c1',
          type: 'function',
          function: { name: sentName(received.text), arguments: '{}' },
        };
        const isStream = (JSON.parse(received.text) as { stream?: boolean }).stream === true;
        if (!isStream)
          return send(response, 200, {
            choices: [{ message: { content: null, tool_calls: [called] }, finish_reason: 'tool_calls' }],
          });
        const delta = { tool_calls: [{ index: 0, ...called }] };
        return streamed([frame(delta, 'tool_calls'), usageFrame, 'data: [DONE]\n\n'])(response, received);
      };
      const { choices } = await engine.generate(request, call());
      expect(choices[0]!.message.tool_calls![0]!.function.name).toBe(name);
      const chunks = await collect(engine.stream(request, call()));
      const calls = chunks.flatMap((chunk) => chunk.choices.flatMap(({ delta }) => delta.tool_calls ?? []));
      expect(calls.map((each) => each.function?.name).find(Boolean)).toBe(name);
      for (const { text } of fake.received) {
        expect(text).not.toContain(name);
        expect(text.split(sentName(text))).toHaveLength(4);
        expect(sentName(text)).toHaveLength(64);
      }
    });
  },
);

it.each<Flavor>(['vllm', 'sglang', 'llama-server', 'ollama'])(
  '%s is sent the name as it is',
  async (flavor) => {
    const { fake, engine, request } = await upstream(flavor);
    await engine.generate(request, call());
    expect(sentName(fake.received[0]!.text)).toBe(name);
  },
);

it('anthropic gets the original name', async () => {
  const { fake, engine, request } = await upstream('anthropic');
  fake.answer = (response) => send(response, 200, message('x'));
  await engine.generate(request, call());
  expect(JSON.parse(fake.received[0]!.text)).toMatchObject({ tools: [{ name }], tool_choice: { name } });
});
