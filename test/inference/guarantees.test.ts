import OpenAI from 'openai';
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Flavor } from '../../src/core/flavor.ts';
import type { ErrorBody } from '../support/api.ts';
import { startApp, testModel, upstreamEngine } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLine, parseLines } from '../support/batch-lines.ts';
import { startQuirkyServers } from '../support/quirky-servers.ts';
import type { QuirkyServerName, QuirkyServers } from '../support/quirky-servers.ts';
import { createMessagesClient } from '../sdk/anthropic-clients.ts';
import { createClient } from '../sdk/clients.ts';

// Guarantees hold on every server, in every format, plain, streamed and in a batch.

const flavorOf: Record<QuirkyServerName, Flavor> = {
  ollama: 'ollama',
  'llama-server': 'llama-server',
  'no-parser': 'vllm',
  careless: 'generic',
  simple: 'generic',
  stubborn: 'generic',
};
const names = Object.keys(flavorOf) as QuirkyServerName[];

let servers: QuirkyServers;
let running: RunningApp;
beforeAll(async () => {
  servers = await startQuirkyServers();
  const models = names.map((id) => ({
    ...testModel({ ...upstreamEngine(servers.url), flavor: flavorOf[id], model: id }),
    id,
    aliases: [],
  }));
  running = await startApp({ models });
});
afterAll(async () => {
  await running?.stop();
  await servers?.close();
});
beforeEach(() => void (servers.requests.length = 0));

const place = {
  type: 'object',
  properties: { city: { type: 'string', minLength: 2 } },
  required: ['city'],
  additionalProperties: false,
};
const time = { type: 'object', properties: { zone: { enum: ['UTC'] } }, required: ['zone'] };
const question = 'How is the weather in Oslo?';

type Guarantee = 'named' | 'required' | 'none' | 'schema';
interface Answer {
  calls: [name: string, args: unknown][];
  text: string;
  /** Finish reason in the terms of chat completions. */
  finish: string;
  outputTokens: number;
}
type Ask = (
  model: QuirkyServerName,
  guarantee: Guarantee,
  streamed: boolean,
  most?: number,
) => Promise<Answer>;

const chatFields = (guarantee: Guarantee): object => {
  if (guarantee === 'schema')
    return { response_format: { type: 'json_schema', json_schema: { name: 'place', schema: place } } };
  const choice = guarantee === 'named' ? { type: 'function', function: { name: 'weather' } } : guarantee;
  const tools = [
    { type: 'function', function: { name: 'clock', parameters: time } },
    { type: 'function', function: { name: 'weather', parameters: place } },
  ];
  return { tools, tool_choice: choice };
};

const askChat: Ask = async (model, guarantee, streamed, most) => {
  const client = createClient(OpenAI, running);
  const messages = [{ role: 'user' as const, content: question }];
  const body = { model, messages, ...chatFields(guarantee), ...(most && { max_tokens: most }) };
  const answer = streamed
    ? await client.chat.completions
        .stream({ ...body, stream_options: { include_usage: true } })
        .finalChatCompletion()
    : await client.chat.completions.create(body);
  const [{ message, finish_reason: finish }] = answer.choices as [(typeof answer.choices)[number]];
  const calls = (message.tool_calls ?? []).map((call) => {
    if (call.type !== 'function') throw new Error(`a call of type ${call.type}`);
    expect(call.id).toMatch(/^call_/);
    return [call.function.name, read(call.function.arguments)] as [string, unknown];
  });
  return { calls, text: message.content ?? '', finish, outputTokens: answer.usage!.completion_tokens };
};

const askResponses: Ask = async (model, guarantee, streamed, most) => {
  const client = createClient(OpenAI, running);
  const format = { type: 'json_schema' as const, name: 'place', schema: place };
  const body: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
    model,
    input: question,
    ...(most && { max_output_tokens: most }),
    ...(guarantee === 'schema'
      ? { text: { format } }
      : {
          tools: [
            { type: 'function', name: 'clock', parameters: time, strict: null },
            { type: 'function', name: 'weather', parameters: place, strict: null },
          ],
          tool_choice: guarantee === 'named' ? { type: 'function', name: 'weather' } : guarantee,
        }),
  };
  const answer = streamed
    ? await client.responses.stream({ ...body, stream: true }).finalResponse()
    : await client.responses.create(body);
  const calls = answer.output.flatMap((item): Answer['calls'] =>
    item.type === 'function_call' ? [[item.name, read(item.arguments)]] : [],
  );
  const whole = calls.length > 0 ? 'tool_calls' : 'stop';
  const finish = answer.status === 'completed' ? whole : 'length';
  return { calls, text: answer.output_text, finish, outputTokens: answer.usage!.output_tokens };
};

const askMessages: Ask = async (model, guarantee, streamed, most = 1000) => {
  const client = createMessagesClient(Anthropic, running);
  const tools = [
    { name: 'clock', input_schema: { ...time, type: 'object' as const } },
    { name: 'weather', input_schema: { ...place, type: 'object' as const } },
  ];
  const choices = {
    named: { type: 'tool' as const, name: 'weather' },
    required: { type: 'any' as const },
    none: { type: 'none' as const },
  };
  const body: Anthropic.MessageCreateParamsNonStreaming = {
    model,
    max_tokens: most,
    messages: [{ role: 'user', content: question }],
    ...(guarantee === 'schema'
      ? { output_config: { format: { type: 'json_schema', schema: place } } }
      : { tools, tool_choice: choices[guarantee] }),
  };
  const answer = streamed
    ? await client.messages.stream(body).finalMessage()
    : await client.messages.create(body);
  const calls = answer.content.flatMap((block): Answer['calls'] =>
    block.type === 'tool_use' ? [[block.name, block.input]] : [],
  );
  const text = answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  const finishes: Record<string, string> = { tool_use: 'tool_calls', end_turn: 'stop', max_tokens: 'length' };
  const { output_tokens: outputTokens } = answer.usage;
  return { calls, text, finish: finishes[answer.stop_reason!]!, outputTokens };
};

function read(args: string): unknown {
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}

const ways = [
  { format: 'chat completions', ask: askChat },
  { format: 'responses', ask: askResponses },
  { format: 'messages', ask: askMessages },
].flatMap((way) => [
  { ...way, way: way.format, streamed: false },
  { ...way, way: `${way.format}, streamed`, streamed: true },
]);

/** Requests to each server until the guarantee holds, which also shows the strategy. */
const times: Record<Exclude<QuirkyServerName, 'stubborn'>, Record<Guarantee, number>> = {
  ollama: { named: 1, required: 1, none: 1, schema: 1 },
  'llama-server': { named: 1, required: 1, none: 1, schema: 1 },
  'no-parser': { named: 2, required: 2, none: 1, schema: 1 },
  careless: { named: 2, required: 2, none: 1, schema: 1 },
  simple: { named: 2, required: 2, none: 1, schema: 2 },
};

/** Three tokens for each answer that was not refused (`completion` in fake-upstream.ts). */
const billedOf = (model: QuirkyServerName, asked: number) => 3 * (model === 'no-parser' ? 1 : asked);

const billedIn = (usage: { completion_tokens: number; billed?: { completion_tokens: number } }) =>
  (usage.billed ?? usage).completion_tokens;

describe.each(ways)('$way', ({ way, format, ask, streamed }) => {
  const cells = Object.entries(times) as [Exclude<QuirkyServerName, 'stubborn'>, Record<Guarantee, number>][];

  it.each(cells)('%s calls the named tool', async (model, { named }) => {
    const { calls, finish, outputTokens } = await ask(model, 'named', streamed);
    expect(calls).toEqual([['weather', { city: 'aa' }]]);
    expect(finish).toBe('tool_calls');
    expect(servers.requests).toHaveLength(named);
    expect(outputTokens).toBe(3);
  });

  it.each(cells)('%s calls a tool if one is required', async (model, { required }) => {
    const { calls, finish } = await ask(model, 'required', streamed);
    expect(calls).toEqual([['clock', { zone: 'UTC' }]]);
    expect(finish).toBe('tool_calls');
    expect(servers.requests).toHaveLength(required);
  });

  it.each(cells)('%s calls none if none may be called', async (model, { none }) => {
    const { calls, text, finish } = await ask(model, 'none', streamed);
    expect([calls, text, finish]).toEqual([[], 'It is sunny.', 'stop']);
    expect(servers.requests).toHaveLength(none);
  });

  it.each(cells)('%s conforms to a schema', async (model, { schema }) => {
    const { text, finish, outputTokens } = await ask(model, 'schema', streamed);
    expect([JSON.parse(text), finish]).toEqual([{ city: 'aa' }, 'stop']);
    expect(servers.requests).toHaveLength(schema);
    expect(outputTokens).toBe(3);
  });

  it('shows that an answer was truncated', async () => {
    const cutCall = await ask('ollama', 'named', streamed, 8);
    expect(cutCall.finish).toBe('length');
    expect(cutCall.calls).toEqual([['weather', format === 'messages' ? {} : '{"city":']]);
    const cutText = ask('ollama', 'schema', streamed, 8);
    // This client throws on that finish reason.
    if (way === 'chat completions, streamed') await expect(cutText).rejects.toThrow(/length limit/);
    else expect(await cutText).toMatchObject({ text: '{"city":', finish: 'length' });
    expect(servers.requests).toHaveLength(2);
  });

  it('fails after two attempts on a server that ignores every instruction', async () => {
    await expect(ask('stubborn', 'named', streamed)).rejects.toMatchObject({ status: 502 });
    await expect(ask('stubborn', 'required', streamed)).rejects.toThrow(/did not call/);
    await expect(ask('stubborn', 'schema', streamed)).rejects.toThrow(/not JSON/);
    expect(servers.requests).toHaveLength(6);
  });
});

it('single calls and a restricted list of tools hold on chat completions', async () => {
  const { tools } = chatFields('required') as { tools: object[] };
  const ask = async (model: QuirkyServerName, more: object) => {
    const messages = [{ role: 'user', content: question }];
    const answer = await running.api.post<OpenAI.ChatCompletion>('/v1/chat/completions', {
      model,
      messages,
      tools,
      ...more,
    });
    return answer.choices[0]!.message.tool_calls?.map(
      (call) => call.type === 'function' && call.function.name,
    );
  };
  const allowed = (mode: string) => ({
    tool_choice: {
      type: 'allowed_tools',
      allowed_tools: { mode, tools: [{ type: 'function', function: { name: 'weather' } }] },
    },
  });
  for (const model of names.filter((name) => name !== 'stubborn'))
    expect(await ask(model, allowed('required')), model).toEqual(['weather']);
  // The server would call the first tool in the list.
  expect(await ask('ollama', allowed('auto'))).toEqual(['weather']);
  expect(await ask('ollama', { parallel_tool_calls: false })).toEqual(['clock']);
});

it('applies to batch lines, which are charged for all attempts', async () => {
  const guarantees: Guarantee[] = ['named', 'required', 'none', 'schema'];
  const requests = names.flatMap((model) =>
    guarantees.map((guarantee) =>
      chatLine(`${model}/${guarantee}`, question, { model, ...chatFields(guarantee) }),
    ),
  );
  const batch = await running.api.finished((await running.api.createBatch({ requests })).id);
  expect(batch.request_counts).toEqual({ total: 24, completed: 21, failed: 3 });
  const output = parseLines((await running.api.results(batch.id, 'output')).text);
  for (const { custom_id: id, response } of output) {
    const [model, guarantee] = id.split('/') as [QuirkyServerName, Guarantee];
    const { message } = response!.body.choices[0] as unknown as OpenAI.ChatCompletion.Choice;
    const [call] = message.tool_calls ?? [];
    const called = call?.type === 'function' ? call.function.name : undefined;
    expect(called, id).toBe(
      { named: 'weather', required: 'clock', none: undefined, schema: undefined }[guarantee],
    );
    if (guarantee === 'schema') expect(JSON.parse(message.content!), id).toEqual({ city: 'aa' });
    const asked = model === 'stubborn' ? 1 : times[model][guarantee];
    expect(response!.body.usage.completion_tokens, id).toBe(3);
    expect(billedIn(response!.body.usage), id).toBe(billedOf(model, asked));
  }
  const errors = parseLines((await running.api.results(batch.id, 'errors')).text);
  expect(Object.fromEntries(errors.map((line) => [line.custom_id, line.error?.code]))).toEqual({
    'stubborn/named': 'tool_not_called',
    'stubborn/required': 'tool_not_called',
    'stubborn/schema': 'schema_not_met',
  });
  const tokens = output.map((line) => billedIn(line.response!.body.usage));
  expect(batch.usage.output_tokens).toBe(tokens.reduce((sum, each) => sum + each, 0));
});

it('a guaranteed stream that fails before its first byte gets an error status', async () => {
  const body = { model: 'stubborn', stream: true, messages: [{ role: 'user', content: question }] };
  const { status, text } = await running.api.send('/v1/chat/completions', {
    json: { ...body, ...chatFields('named') },
  });
  expect([status, (JSON.parse(text) as ErrorBody).error.code]).toEqual([502, 'tool_not_called']);
});
