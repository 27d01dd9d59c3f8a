import { afterEach, describe, expect, it } from 'vitest';
import { flavors } from '../../../src/core/flavor.ts';
import type { Flavor } from '../../../src/core/flavor.ts';
import { parseChatRequest } from '../../../src/wire/chat/request/request.ts';
import { parseDirectRequest } from '../../../src/wire/direct/parse.ts';
import { send, startFakeUpstream } from '../../support/fake-upstream.ts';
import type { FakeUpstream } from '../../support/fake-upstream.ts';
import { call, collect, engineAt } from './setup.ts';

// Fields with which a client could make a server fetch from elsewhere, run code, jump its queue, use another model at the
// price of this one, or bypass guarantees.

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await (one.stop?.() ?? one.close?.());
});

const evil = 'http://169.254.169.254/latest/meta-data';

const overrides: Record<string, unknown> = {
  // Other hosts and credentials.
  api_base: evil,
  base_url: evil,
  api_key: 'sk-other',
  api_version: 'x',
  organization: 'o',
  extra_headers: { authorization: 'Bearer other' },
  extra_body: { model: 'other' },
  headers: { host: 'other' },
  proxy: evil,
  litellm_params: { api_base: evil },
  user_config: { model_list: [] },
  custom_llm_provider: 'openai',
  vertex_credentials: 'x',
  aws_access_key_id: 'x',
  azure_ad_token: 'x',
  data_sources: [{ type: 'azure_search', parameters: { endpoint: evil } }],
  kv_transfer_params: { remote_host: '169.254.169.254', do_remote_prefill: true },
  bootstrap_host: '169.254.169.254',
  bootstrap_port: 80,
  bootstrap_room: 1,
  search_parameters: { sources: [{ type: 'rss', links: [evil] }] },
  // Other models.
  models: ['expensive'],
  fallbacks: ['expensive'],
  provider: { order: ['other'] },
  plugins: [{ id: 'web' }],
  route: 'fallback',
  transforms: ['middle-out'],
  lora: [{ id: 0, scale: 1 }],
  lora_path: '/etc/passwd',
  web_search_options: {},
  moderation: { model: 'm' },
  audio: { voice: 'a', format: 'wav' },
  // Code.
  chat_template: '{{ self }}',
  custom_logit_processor: 'pickle',
  custom_params: { a: 1 },
  logits_processors: ['os.system'],
  vllm_xargs: { a: 1 },
  mm_processor_kwargs: { num_crops: 1000 },
  media_io_kwargs: { video: { num_frames: 10_000 } },
  // Places in the queue, and the caches of others.
  priority: -100,
  service_tier: 'priority',
  request_id: 'one-of-somebody-else',
  rid: 'x',
  cache_salt: 'x',
  extra_key: 'x',
  session_params: { id: 'x' },
  id_slot: 0,
  cache_prompt: false,
  data_parallel_rank: 0,
  // Bypassing guarantees or billing.
  guided_json: '{}',
  guided_regex: '.*',
  guided_grammar: 'root ::= "x"',
  structured_outputs: { regex: '.*' },
  grammar: 'root ::= "x"',
  json_schema: {},
  regex: '.*',
  ebnf: 'root ::= "x"',
  n_predict: -1,
  best_of: 64,
  use_beam_search: true,
  prompt_logprobs: 20,
  echo: true,
  prompt: 'x',
  documents: [{ text: 'x' }],
  return_hidden_states: true,
  truncate_prompt_tokens: 1,
  add_generation_prompt: false,
  continue_final_message: true,
  keep_alive: -1,
  options: { num_ctx: 10_000_000 },
  safe_prompt: false,
  // Handled between the client and Offpeak.
  metadata: { a: 'b' },
  user: 'u',
  safety_identifier: 's',
  store: true,
  __proto__x: 1,
};

const schema = { type: 'object', maximum: 12 };
const plain = {
  model: 'public',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'done' },
  ],
  temperature: 0.5,
  tools: [{ type: 'function', function: { name: 'f', parameters: schema, strict: true } }],
  tool_choice: { type: 'function', function: { name: 'f' } },
  response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
};

/** The same with more members in every object with known members. */
function padded(value: unknown): unknown {
  if (value === schema || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(padded);
  const inner = Object.entries(value).map(([name, each]) => [name, padded(each)]);
  return { ...Object.fromEntries(inner), cache_salt: 'x', 'extra é': { url: evil }, file_id: null };
}

async function upstream(flavor: Flavor, passThrough?: string[]) {
  const fake = await startFakeUpstream();
  const engine = engineAt(fake.url, { flavor, ...(passThrough && { passThrough }) });
  open.push(fake, engine);
  const ask = async (fields: object) => {
    await engine.generate(parseChatRequest(JSON.stringify(fields)).body, call());
    return sent(fake);
  };
  return { fake, engine, ask };
}

const sent = ({ received }: FakeUpstream) => JSON.parse(received.at(-1)!.text) as Record<string, unknown>;

it('there are enough dangerous members to test', () => {
  expect(Object.keys(overrides).length).toBeGreaterThanOrEqual(60);
});

describe.each(flavors)('%s', (flavor) => {
  it('gets none of the dangerous members', async () => {
    const { ask } = await upstream(flavor);
    expect(await ask({ ...plain, ...overrides })).toEqual(await ask(plain));
  });

  it('gets none inside messages, tools and formats, and every digit of numbers', async () => {
    const { fake, engine, ask } = await upstream(flavor);
    const expected = await ask(plain);
    const { cache_salt: _, ...fields } = padded(plain) as Record<string, unknown>;
    const text = JSON.stringify({ ...fields, stream_options: { include_usage: true, cache_salt: 'x' } });
    const { body } = parseChatRequest(text.replaceAll('"maximum":12', '"maximum":12345678901234567890.10'));
    await engine.generate(body, call());
    expect(fake.received.at(-1)!.text).toContain('"maximum":12345678901234567890.10');
    const clean = fake.received.at(-1)!.text.replaceAll('12345678901234567890.10', '12');
    expect(JSON.parse(clean)).toEqual(expected);
  });

  it('gets only the members of an embedding', async () => {
    const { fake, engine } = await upstream(flavor);
    fake.answer = (response) =>
      send(response, 200, { data: [{ index: 0, embedding: [1, 0] }], usage: { prompt_tokens: 1 } });
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: evil } }] }];
    const fields = { model: 'public', input: 'hi', dimensions: 2, encoding_format: 'base64' };
    const text = JSON.stringify({ ...fields, ...overrides, messages });
    await engine.direct('embeddings', parseDirectRequest('embeddings', text), call());
    const expected = { model: 'real-name', input: 'hi', dimensions: 2, encoding_format: 'float' };
    expect(sent(fake)).toEqual(expected);
  });

  it('gets members that its operator lets through, with any content', async () => {
    const { ask } = await upstream(flavor, ['priority', 'provider', 'chat_template_kwargs']);
    const chat_template_kwargs = { anything: [1] };
    const { priority, provider } = overrides;
    const fields = { model: 'public', messages: plain.messages };
    expect(await ask({ ...fields, ...overrides, chat_template_kwargs })).toMatchObject({
      priority,
      provider,
      chat_template_kwargs,
    });
  });

  it('gets none of them in a stream', async () => {
    const { fake, engine, ask } = await upstream(flavor);
    const { stream_options: _, ...expected } = await ask({ model: 'public', messages: plain.messages });
    fake.answer = (response) => send(response, 200, {});
    const fields = { model: 'public', messages: plain.messages, ...overrides };
    const stream = engine.stream(parseChatRequest(JSON.stringify(fields)).body, call());
    // The answer is invalid.
    await expect(collect(stream)).rejects.toThrow();
    const { stream_options: options, ...others } = sent(fake);
    expect(others).toEqual({ ...expected, stream: true });
    expect([undefined, { include_usage: true }]).toContainEqual(options);
  });
});
