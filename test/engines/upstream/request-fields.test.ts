import { afterEach, describe, expect, it } from 'vitest';
import { flavors } from '../../../src/core/flavor.ts';
import type { Flavor } from '../../../src/core/flavor.ts';
import { flavorTraits } from '../../../src/engines/upstream/flavors/flavors.ts';
import type { ChatMessage } from '../../../src/wire/chat/chat.ts';
import { foldChunks } from '../../../src/wire/chat/stream/fold-chunks.ts';
import { parseChatRequest } from '../../../src/wire/chat/request/request.ts';
import { complete, frame, startFakeUpstream, streamed, usageFrame } from '../../support/fake-upstream.ts';
import { bodyTo, sentTo } from './sent-to.ts';
import { ask, call, collect, engineAt } from './setup.ts';

// Fields of chat requests as each server receives them.

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await (one.stop?.() ?? one.close?.());
});

const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
const schema = { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' }, strict: true } };

/** Fields that every server receives unchanged. */
const forAll: Record<string, unknown>[] = [
  { temperature: 0.2, top_p: 0.9, frequency_penalty: 1, presence_penalty: -1 },
  { max_tokens: 5 },
  { n: 2 },
  { stop: 'END' },
  { stop: ['a', 'b', 'c', 'd'] },
  { seed: 7 },
  { logprobs: true, top_logprobs: 3 },
  { logit_bias: { '50': -100 } },
  { response_format: { type: 'text' } },
  { response_format: { type: 'json_object' } },
  { response_format: schema },
  { tools: [tool], tool_choice: 'auto', parallel_tool_calls: true },
  { tools: [tool], tool_choice: { type: 'function', function: { name: 'f' } } },
  { reasoning_effort: null },
];

/** Fields for Offpeak alone, which no server receives. */
const ours = { metadata: { a: 'b' }, user: 'u', safety_identifier: 's', store: true };

/** Fields of hosted services that do not change the price of an answer. */
const hosted = {
  prompt_cache_key: 'k',
  prompt_cache_retention: '24h',
  prediction: { type: 'content', content: 'x' },
  verbosity: 'low',
};

/** Fields that some servers know by another name, or not at all. */
const exceptions: Partial<Record<Flavor, Record<string, Record<string, unknown>>>> = {
  'llama-server': { n: {} },
  openai: { max_tokens: { max_completion_tokens: 5 } },
  gemini: { seed: {}, frequency_penalty: {} },
  mistral: {
    seed: { random_seed: 7 },
    logprobs: {},
    top_logprobs: {},
    logit_bias: {},
  },
  xai: { frequency_penalty: {}, presence_penalty: {}, stop: {} },
};

/** Fields as this flavor receives them. */
function known(flavor: Flavor, fields: Record<string, unknown>): object {
  const parts = Object.entries(fields).map(
    ([name, value]) => exceptions[flavor]?.[name] ?? { [name]: value },
  );
  return Object.assign({}, ...parts) as object;
}

/** Fields of `hosted` that each hosted service receives. */
const hostedBy: Partial<Record<Flavor, readonly string[]>> = {
  openai: Object.keys(hosted),
  offpeak: Object.keys(hosted),
  openrouter: ['verbosity'],
  mistral: ['prediction'],
};

// Translated requests have their own tests (anthropic.test.ts).
const chatFlavors = flavors.filter((flavor) => flavor !== 'anthropic');

describe.each(chatFlavors)('%s', (flavor) => {
  it('gets supported members, and none that concern only Offpeak', async () => {
    for (const fields of forAll) {
      const expected = known(flavor, fields);
      expect(await sentTo(flavor, { ...fields, ...ours }), JSON.stringify(fields)).toEqual(expected);
    }
  });

  it('gets its members of hosted services', async () => {
    const names = hostedBy[flavor] ?? [];
    const expected = Object.fromEntries(Object.entries(hosted).filter(([name]) => names.includes(name)));
    expect(await sentTo(flavor, hosted)).toEqual(expected);
  });

  it('gets the newer of two limits', async () => {
    const fields = Object.values(
      (await sentTo(flavor, { max_tokens: 9, max_completion_tokens: 5 })) as object,
    );
    expect(new Set(fields)).toEqual(new Set([5]));
  });

  it('never gets stream options for a whole answer', async () => {
    const options = { include_usage: true, include_obfuscation: true };
    expect(await sentTo(flavor, { stream: false, stream_options: options })).toEqual(
      flavorTraits[flavor].asStream ? {} : { stream: false },
    );
  });

  it('gets functions as tools, and no hosted tools', async () => {
    const { name, parameters } = tool.function;
    expect(await sentTo(flavor, { functions: [{ name, parameters }] })).toEqual({
      tools: [tool],
      tool_choice: 'auto',
      parallel_tool_calls: false,
    });
    expect(await sentTo(flavor, { tools: [{ type: 'web_search' }], tool_choice: 'auto' })).toEqual({});
  });
});

describe('sampling', () => {
  const given = { top_k: 20, min_p: 0.1, repetition_penalty: 1.1 };
  const llama = {
    typical_p: 0.9,
    mirostat: 2,
    mirostat_tau: 5,
    dry_multiplier: 0.8,
    dry_sequence_breakers: ['x'],
  };

  it.each<[Flavor, object]>([
    ['vllm', given],
    ['sglang', given],
    ['llama-server', { top_k: 20, min_p: 0.1, repeat_penalty: 1.1, ...llama }],
    ['ollama', {}],
    ['openai', {}],
    ['azure', {}],
    ['openrouter', given],
    ['gemini', {}],
    ['mistral', {}],
    ['offpeak', given],
    ['generic', given],
  ])('reaches %s under its names, as far as supported', async (flavor, expected) => {
    expect(await sentTo(flavor, { ...given, ...llama })).toEqual(expected);
  });

  it.each<[Flavor, object]>([
    ['vllm', { repetition_penalty: 1.25 }],
    ['llama-server', { repeat_penalty: 1.25 }],
    ['generic', { repeat_penalty: 1.25 }],
    ['openai', {}],
  ])('sends the repetition penalty under the name of %s', async (flavor, expected) => {
    expect(await sentTo(flavor, { repeat_penalty: 1.25 })).toEqual(expected);
  });
});

const user = { role: 'user', content: 'hi' };

it('sends mistral no forbidden members, and no request for the usage', async () => {
  const fake = await startFakeUpstream(
    streamed([frame({ content: 'a' }, 'stop'), usageFrame, 'data: [DONE]\n\n']),
  );
  const engine = engineAt(fake.url, { flavor: 'mistral' });
  open.push(fake, engine);
  const messages = [
    { role: 'user', content: 'hi', name: 'ann' },
    { role: 'assistant', content: 'yes', reasoning: 'r', reasoning_content: 'r', refusal: null },
    { role: 'user', content: 'why?' },
  ];
  const { body } = parseChatRequest(JSON.stringify({ model: 'm', messages }));
  const chunks = await collect(engine.stream(body, call()));
  expect(chunks.at(-1)!.usage).toMatchObject({ prompt_tokens: 5 });
  expect(JSON.parse(fake.received[0]!.text)).toEqual({
    model: 'real-name',
    stream: true,
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'r' }] },
          { type: 'text', text: 'yes' },
        ],
      },
      { role: 'user', content: 'why?' },
    ],
  });
});

describe('a last turn of the assistant', () => {
  const lastTurn = { role: 'assistant', content: 'Once upon' };
  const lastAt = async (flavor: Flavor, ...messages: object[]) =>
    ((await bodyTo(flavor, { messages }))['messages'] as object[]).at(-1);

  it.each<Flavor>(['vllm', 'llama-server', 'openai', 'generic'])(
    'is sent to %s unchanged',
    async (flavor) => {
      expect(await lastAt(flavor, user, lastTurn)).toEqual(lastTurn);
    },
  );

  it('is marked for mistral, which would refuse it', async () => {
    expect(await lastAt('mistral', user, lastTurn)).toEqual({ ...lastTurn, prefix: true });
    expect(await lastAt('mistral', user, lastTurn, user)).toEqual(user);
  });

  it('is continued by servers whose operator permits that', async () => {
    const fields = { continue_final_message: true, add_generation_prompt: false };
    const passThrough = Object.keys(fields);
    expect(await sentTo('vllm', fields, { passThrough })).toEqual(fields);
    expect(await sentTo('vllm', fields)).toEqual({});
  });
});

it.each<[Flavor, string, string]>([
  ['mistral', 'call_0fypS1hVX', 'D681PevKs'],
  ['openai', `chatcmpl-tool-${'0a'.repeat(16)}`, 'call_0fypS1hVX'],
  ['azure', `chatcmpl-tool-${'0a'.repeat(16)}`, 'call_0fypS1hVX'],
])('%s gets valid call ids, the same for a call and its result', async (flavor, bad, good) => {
  const fake = await startFakeUpstream(complete());
  const engine = engineAt(fake.url, { flavor });
  open.push(fake, engine);
  const called = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
  const messages = [
    user,
    { role: 'assistant', content: null, tool_calls: [called(bad), called(good)] },
    { role: 'tool', tool_call_id: bad, content: 'one' },
    { role: 'tool', tool_call_id: good, content: 'two' },
    { role: 'user', content: 'and?' },
  ];
  const { body } = parseChatRequest(JSON.stringify({ model: 'm', messages }));
  await engine.generate(body, call());
  const sent = JSON.parse(fake.received[0]!.text) as { messages: ChatMessage[] };
  const [, { tool_calls: calls } = {}, one, two] = sent.messages;
  const [first, second] = calls!.map(({ id }) => id);
  expect(first).toMatch(/^[a-zA-Z0-9]{9}$/);
  expect([one!.tool_call_id, second, two!.tool_call_id]).toEqual([first, good, good]);
});

it.each<Flavor>(['openai', 'azure', 'gemini'])(
  '%s, which refuses members of messages that it does not know, is sent no thoughts',
  async (flavor) => {
    const fake = await startFakeUpstream(complete());
    const engine = engineAt(fake.url, { flavor });
    open.push(fake, engine);
    const thought = { role: 'assistant', content: 'yes', reasoning: 'r', reasoning_content: 'r' };
    const { body } = parseChatRequest(JSON.stringify({ model: 'm', messages: [user, thought, user] }));
    await engine.generate(body, call());
    expect(JSON.parse(fake.received[0]!.text)).toEqual({
      model: 'real-name',
      messages: [user, { role: 'assistant', content: 'yes' }, user],
    });
  },
);

describe('signed calls', () => {
  const signed = { google: { thought_signature: 'c2lnbmVk' } };
  const calls = (...more: object[]) =>
    more.map((extra, at) => ({
      id: `c${at}`,
      type: 'function',
      function: { name: 'f', arguments: '{}' },
      ...extra,
    }));
  const conversation = (...first: object[]) => {
    const results = first.map((_, at) => ({ role: 'tool', tool_call_id: `c${at}`, content: 'ok' }));
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: calls(...first) },
      ...results,
    ];
    return parseChatRequest(JSON.stringify({ model: 'm', messages })).body;
  };
  async function sent(flavor: Flavor, ...first: object[]): Promise<unknown[]> {
    const fake = await startFakeUpstream(complete());
    const engine = engineAt(fake.url, { flavor });
    open.push(fake, engine);
    await engine.generate(conversation(...first), call());
    const { messages } = JSON.parse(fake.received[0]!.text) as {
      messages: { tool_calls: { extra_content?: unknown }[] }[];
    };
    return messages[1]!.tool_calls.map(({ extra_content: extra }) => extra);
  }

  it('are returned to gemini with their signature alone', async () => {
    expect(await sent('gemini', { extra_content: { ...signed, other: 1 } }, {})).toEqual([signed, undefined]);
  });

  it('are sent to gemini with a placeholder for a lost signature, on the first call of a message', async () => {
    const none = { google: { thought_signature: 'skip_thought_signature_validator' } };
    expect(await sent('gemini', {}, {})).toEqual([none, undefined]);
  });

  it.each<[Flavor, unknown]>([
    ['offpeak', signed],
    ['openai', undefined],
    ['vllm', undefined],
  ])('%s gets in its own form', async (flavor, expected) => {
    expect(await sent(flavor, { extra_content: signed })).toEqual([expected]);
  });

  it('are passed to the client with their signatures, whole and streamed', async () => {
    const tool_calls = calls({ extra_content: signed });
    const fake = await startFakeUpstream(
      complete('', {
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: null, tool_calls },
            finish_reason: 'tool_calls',
          },
        ],
      }),
    );
    const engine = engineAt(fake.url, { flavor: 'gemini' });
    open.push(fake, engine);
    const body = await engine.generate(ask(), call());
    expect(body.choices[0]!.message.tool_calls).toEqual(tool_calls);
    fake.answer = streamed([
      frame({ tool_calls: [{ index: 0, ...tool_calls[0] }] }),
      frame({}, 'stop'),
      usageFrame,
      'data: [DONE]\n\n',
    ]);
    const folded = await foldChunks(engine.stream(ask(), call()));
    expect(folded.choices[0]!.message.tool_calls).toEqual(tool_calls);
  });
});

describe('the reasoning of a message', () => {
  const readBy: Partial<Record<Flavor, string[]>> = {
    openai: [],
    azure: [],
    gemini: [],
    mistral: [],
    anthropic: [],
    deepseek: ['reasoning_content'],
    xai: ['reasoning_content'],
    sglang: ['reasoning_content'],
    'llama-server': ['reasoning_content'],
    openrouter: ['reasoning'],
    ollama: ['reasoning'],
  };

  async function thoughtsAt(flavor: Flavor, thoughts: object): Promise<Record<string, unknown>> {
    const fake = await startFakeUpstream();
    const engine = engineAt(fake.url, { flavor });
    open.push(fake, engine);
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b', ...thoughts },
      { role: 'user', content: 'c' },
    ];
    await engine.generate(parseChatRequest(ask({ messages } as never).text).body, call());
    const sent = JSON.parse(fake.received[0]!.text) as { messages: Record<string, unknown>[] };
    const { role: _, content: __, ...rest } = sent.messages[1]!;
    return rest;
  }

  it.each(flavors)('is sent to %s under the names that it reads', async (flavor) => {
    const names = readBy[flavor] ?? ['reasoning', 'reasoning_content'];
    const expected = Object.fromEntries(names.map((name) => [name, 'hm']));
    for (const given of [{ reasoning: 'hm' }, { reasoning_content: 'hm' }])
      expect(await thoughtsAt(flavor, given)).toEqual(expected);
    expect(await thoughtsAt(flavor, { reasoning: 'hm', reasoning_content: 'hm' })).toEqual(expected);
  });
});
