import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { frame, startFakeUpstream, streamed } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';

// Tool calls whose deltas the upstream indexes wrongly, as the official clients assemble them in each format.

let fake: FakeUpstream;
let app: RunningApp;
beforeAll(async () => {
  fake = await startFakeUpstream();
  app = await startApp({ models: [testModel(upstreamEngine(fake.url))] });
});
afterAll(async () => {
  await app?.stop();
  await fake?.close();
});

const user = [{ role: 'user' as const, content: 'hi' }];
const names = ['read_file', 'write'];

type Called = [name: string, args: unknown];

async function asChat(): Promise<Called[]> {
  const client = new OpenAI({ apiKey: app.key, baseURL: `${app.url}/v1`, maxRetries: 0 });
  const tools = names.map((name) => ({ type: 'function' as const, function: { name, parameters: {} } }));
  const { choices } = await client.chat.completions
    .stream({ model: 'tiny', messages: user, tools })
    .finalChatCompletion();
  const calls = (choices[0]!.message.tool_calls ?? []) as { function: { name: string; arguments: string } }[];
  return calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]);
}

async function asMessage(): Promise<Called[]> {
  const client = new Anthropic({ authToken: app.key, apiKey: null, baseURL: app.url, maxRetries: 0 });
  const tools = names.map((name) => ({ name, input_schema: { type: 'object' as const } }));
  const { content } = await client.messages
    .stream({ model: 'tiny', max_tokens: 9, messages: user, tools })
    .finalMessage();
  return content.flatMap((block): Called[] => (block.type === 'tool_use' ? [[block.name, block.input]] : []));
}

async function asResponse(): Promise<Called[]> {
  const client = new OpenAI({ apiKey: app.key, baseURL: `${app.url}/v1`, maxRetries: 0 });
  const tools = names.map((name) => ({ type: 'function' as const, name, parameters: {}, strict: false }));
  const { output } = await client.responses.stream({ model: 'tiny', input: 'hi', tools }).finalResponse();
  return output.flatMap((item): Called[] =>
    item.type === 'function_call' ? [[item.name, JSON.parse(item.arguments)]] : [],
  );
}

const piece = (index: number, id: string | undefined, name: string | undefined, args: string) =>
  frame({ tool_calls: [{ index, ...(id && { id }), function: { ...(name && { name }), arguments: args } }] });

const streams: [string, string[]][] = [
  [
    'all alike',
    [
      piece(0, 'a', 'read_file', '{"p":'),
      piece(0, undefined, undefined, '"a"}'),
      piece(0, 'b', 'write', ''),
      piece(1, undefined, undefined, '{"p":"b"}'),
    ],
  ],
  [
    'swapped',
    [
      piece(0, 'a', 'read_file', '{"p":'),
      piece(1, 'b', 'write', '{"p":'),
      piece(0, 'b', undefined, '"b"}'),
      piece(1, 'a', undefined, '"a"}'),
    ],
  ],
  [
    'in pieces of names',
    [
      piece(0, 'a', 'read', ''),
      piece(0, undefined, '_file', ''),
      piece(0, undefined, undefined, '{"p":"a"}'),
      piece(1, 'b', undefined, ''),
      piece(1, undefined, 'write', ''),
      piece(1, undefined, undefined, '{"p":"b"}'),
    ],
  ],
];

it.each(streams)('are complete in every format when the upstream sends them %s', async (_, pieces) => {
  fake.answer = streamed([...pieces, frame({}, 'tool_calls'), 'data: [DONE]\n\n']);
  const expected = [
    ['read_file', { p: 'a' }],
    ['write', { p: 'b' }],
  ];
  expect(await asChat()).toEqual(expected);
  expect(await asMessage()).toEqual(expected);
  expect(await asResponse()).toEqual(expected);
});
