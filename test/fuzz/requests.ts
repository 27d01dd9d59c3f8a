import * as fc from 'fast-check';
import { chatMessages, messageTurns, responseItems, stories } from './stories.ts';
import { schemas, word } from './words.ts';

// Requests of clients in each format, with every field of the format and fields of older versions and other servers, so
// that damage can occur anywhere.

export type Body = Record<string, unknown>;
type Fields = Record<string, fc.Arbitrary<unknown>>;

const models = fc.constantFrom('tiny', 'tiny', 'default', 'org/model:tag');
const some = fc.constantFrom;
const toolNames = ['get_weather', 'look', 'mcp__files__read-1'] as const;

/** Generates up to four of these fields. */
const optional = (fields: Fields): fc.Arbitrary<Body> =>
  fc
    .array(fc.oneof(...Object.entries(fields).map(([name, value]) => fc.tuple(fc.constant(name), value))), {
      maxLength: 4,
    })
    .map((entries) => Object.fromEntries(entries));

interface Tools {
  names: string[];
  schemas: (object | null)[];
  choice: 'none' | 'auto' | 'required' | 'named' | 'allowed' | null;
}

const tools = fc.record<Tools>({
  names: fc.subarray([...toolNames], { minLength: 1 }),
  schemas: fc.array(fc.oneof(fc.constantFrom(...schemas), some(null)), { minLength: 3, maxLength: 3 }),
  choice: some('none', 'auto', 'required', 'named', 'allowed', null),
});

const maybeTools = fc.option(tools, { freq: 2 });
const schema = fc.constantFrom(...schemas);
const sampling = {
  temperature: some(0, 0.7, 1, 2, null),
  top_p: some(0, 0.9, 1, null),
};

/** Current and former fields of other servers. */
const foreign = {
  user: some('u', null),
  store: some(true, false, null),
  service_tier: some('auto', 'default'),
  metadata: some({}, { a: 'b' }, null),
  safety_identifier: some('s', null),
  prompt_cache_key: some('k', null),
  cache_salt: some('x'),
  chat_template_kwargs: some({ enable_thinking: false }),
};

const chatOptions = optional({
  ...sampling,
  ...foreign,
  max_tokens: some(1, 5, 64, null),
  max_completion_tokens: some(1, 64, null),
  n: some(1, 2, null),
  stop: some('END', ['a', 'b'], [], null),
  seed: some(0, 42, -1, 12345678901234, null),
  frequency_penalty: some(-2, 0, 1.5, null),
  presence_penalty: some(-2, 0, 1.5, null),
  logit_bias: some({}, { '50256': -100 }, null),
  logprobs: some(true, false, null),
  top_k: some(1, 40, -1),
  min_p: some(0, 0.05),
  repeat_penalty: some(1.1),
  reasoning_effort: some('low', 'none', null),
  parallel_tool_calls: some(true, false, null),
  verbosity: some('low'),
  modalities: some(['text']),
  prediction: some({ type: 'content', content: 'x' }),
  response_format: fc.oneof(
    some({ type: 'text' }, { type: 'json_object' }, null),
    fc.record({
      type: some('json_schema'),
      json_schema: fc.record({ name: some('answer'), schema, strict: some(true, false, null) }),
    }),
  ),
});

const streamed = some(true, true, false, null, undefined);

export const chatRequest: fc.Arbitrary<Body> = fc
  .record({
    model: models,
    story: stories,
    options: chatOptions,
    tools: maybeTools,
    isOlder: some(true, false, false, false),
    stream: streamed,
    usage: some(true, false, undefined),
  })
  .map(({ model, story, options, tools: given, isOlder, stream, usage }) => ({
    model,
    messages: isOlder ? chatMessages(story).map(inOlderWords) : chatMessages(story),
    ...options,
    ...(given && (isOlder ? functions(given) : chatTools(given))),
    ...(stream !== undefined && { stream }),
    ...(stream && usage !== undefined && { stream_options: { include_usage: usage } }),
  }));

function chatTools({ names, schemas: parameters, choice }: Tools): Body {
  const list: Body[] = names.map((name, at) => ({
    type: 'function',
    function: { name, description: 'Does something.', parameters: parameters[at], strict: at === 0 },
  }));
  list.push({ type: 'custom', custom: { name: 'free' } });
  const named = { type: 'function', function: { name: names[0] } };
  const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named] } };
  const choices = { named, allowed, none: 'none', auto: 'auto', required: 'required' };
  return { tools: list, ...(choice !== null && { tool_choice: choices[choice] }) };
}

/** Predecessors of tools. */
function functions({ names, schemas: parameters, choice }: Tools): Body {
  const list = names.map((name, at) => ({
    name,
    description: 'Does something.',
    parameters: parameters[at],
  }));
  const choices = { named: { name: names[0] }, none: 'none', auto: 'auto', required: null, allowed: null };
  return { functions: list, ...(choice !== null && { function_call: choices[choice] }) };
}

function inOlderWords(message: Body): Body {
  const { tool_calls: calls, tool_call_id: answered, ...rest } = message;
  if (answered !== undefined) return { ...rest, role: 'function', name: 'look' };
  if (!Array.isArray(calls)) return message;
  const [{ function: called }] = calls as [{ function: unknown }];
  return { ...rest, function_call: called };
}

const responsesOptions = optional({
  ...sampling,
  ...foreign,
  instructions: some('Be kind.', '', null),
  max_output_tokens: some(1, 5, 64, null),
  max_tool_calls: some(1, 5, null),
  top_logprobs: some(0, 3, null),
  parallel_tool_calls: some(true, false, null),
  previous_response_id: some(null, 'resp_unknown', `resp_${'0'.repeat(32)}`),
  reasoning: some({ effort: 'low', summary: 'auto' }, { effort: null }, {}, null),
  include: some([], ['reasoning.encrypted_content'], ['message.output_text.logprobs'], null),
  truncation: some('auto', 'disabled', null),
  background: some(false, true, null),
  client_metadata: some({ a: 'b' }),
  stream_options: some({ include_obfuscation: false }),
  context_management: some([{ type: 'compaction' }]),
  text: fc.oneof(
    some({ format: { type: 'text' }, verbosity: 'low' }, { format: { type: 'json_object' } }, {}, null),
    fc.record({
      format: fc.record({
        type: some('json_schema'),
        name: some('answer'),
        schema,
        strict: some(true, false, null),
      }),
    }),
  ),
});

export const responsesRequest: fc.Arbitrary<Body> = fc
  .record({
    model: models,
    input: fc.oneof({ weight: 1, arbitrary: word }, { weight: 4, arbitrary: stories.map(responseItems) }),
    options: responsesOptions,
    tools: maybeTools,
    nested: fc.boolean(),
    stream: streamed,
  })
  .map(({ model, input, options, tools: given, nested, stream }) => ({
    model,
    input,
    ...options,
    ...(given && (nested ? chatTools(given) : flatTools(given))),
    ...(stream !== undefined && { stream }),
  }));

function flatTools({ names, schemas: parameters, choice }: Tools): Body {
  const list: Body[] = names.map((name, at) => ({
    type: 'function',
    name,
    parameters: parameters[at],
    strict: at === 0,
  }));
  list.push({ type: 'web_search' }, { type: 'namespace', name: 'mcp', tools: [] });
  const named = { type: 'function', name: names[0] };
  const allowed = { type: 'allowed_tools', mode: 'auto', tools: [named] };
  const choices = { named, allowed, none: 'none', auto: 'auto', required: 'required' };
  return { tools: list, ...(choice !== null && { tool_choice: choices[choice] }) };
}

const messagesOptions = optional({
  ...sampling,
  top_k: some(0, 40, null),
  stop_sequences: some([], ['END'], ['a', 'b', 'c', 'd', 'e'], null),
  metadata: some({ user_id: 'u' }, {}, null),
  thinking: some(
    { type: 'enabled', budget_tokens: 1024 },
    { type: 'adaptive', display: 'omitted' },
    { type: 'disabled' },
    null,
  ),
  output_config: fc.oneof(
    some({ effort: 'low' }, {}, null),
    fc.record({ format: fc.record({ type: some('json_schema'), schema }) }),
  ),
  output_format: fc.oneof(some(null), fc.record({ type: some('json_schema'), schema })),
  service_tier: some('auto'),
  container: some(null),
  mcp_servers: some([]),
  context_management: some({ edits: [] }),
  betas: some(['structured-outputs-2025-11-13']),
  thread: some({ type: 'new' }, null),
});

const messagesPrompt = fc
  .record({
    model: models,
    story: stories,
    options: messagesOptions,
    tools: maybeTools,
    alone: some(true, false, undefined),
  })
  .map(({ model, story, options, tools: given, alone }) => ({
    model,
    ...messageTurns(story),
    ...options,
    ...(given && messagesTools(given, alone)),
  }));

export const messagesRequest: fc.Arbitrary<Body> = fc
  .record({ prompt: messagesPrompt, max: some(1, 5, 64, 100_000), stream: streamed })
  .map(({ prompt, max, stream }) => ({
    max_tokens: max,
    ...prompt,
    ...(stream !== undefined && { stream }),
  }));

function messagesTools({ names, schemas: inputs, choice }: Tools, alone: boolean | undefined): Body {
  const list: Body[] = names.map((name, at) => ({
    name,
    ...(at === 1 && { type: 'custom', cache_control: { type: 'ephemeral' } }),
    input_schema: inputs[at] ?? { type: 'object' },
  }));
  list.push({ type: 'web_search_20250305', name: 'web_search', max_uses: 3 });
  list.push({ type: 'bash_20250124', name: 'bash' });
  const types = { named: 'tool', required: 'any', auto: 'auto', none: 'none', allowed: 'auto' } as const;
  if (choice === null) return { tools: list };
  const chosen = { type: types[choice], ...(choice === 'named' && { name: names[0] }) };
  return {
    tools: list,
    tool_choice: { ...chosen, ...(alone !== undefined && { disable_parallel_tool_use: alone }) },
  };
}

export const embeddingsRequest: fc.Arbitrary<Body> = fc
  .record({
    model: some('tiny', 'vectors', 'default'),
    input: fc.oneof(word, fc.array(word, { minLength: 1, maxLength: 3 }), some([1, 2, 3], [[1], [2, 3]])),
    options: optional({
      encoding_format: some('float', 'base64', null),
      dimensions: some(1, 64, null),
      user: some('u'),
    }),
  })
  .map(({ model, input, options }) => ({ model, input, ...options }));

export const rerankRequest: fc.Arbitrary<Body> = fc
  .record({
    model: some('ranker'),
    query: word,
    documents: fc.array(fc.oneof(word, fc.record({ text: word })), { minLength: 1, maxLength: 4 }),
    options: optional({
      top_n: some(1, 9, null),
      return_documents: some(true, false, null),
      user: some('u'),
    }),
  })
  .map(({ options, ...request }) => ({ ...request, ...options }));

export const scoreRequest: fc.Arbitrary<Body> = fc
  .record({
    model: some('ranker'),
    pairs: fc.array(fc.tuple(word, word), { minLength: 1, maxLength: 3 }),
    names: some(['text_1', 'text_2'], ['queries', 'documents']),
    single: fc.boolean(),
  })
  .map(({ model, pairs, names: [first, second], single }) => ({
    model,
    [first]: single ? pairs[0]![0] : pairs.map(([text]) => text),
    [second]: pairs.map(([, text]) => text),
  }));

export const moderationsRequest: fc.Arbitrary<Body> = fc.record({
  model: some('guard'),
  input: fc.oneof(
    word,
    fc.array(word, { minLength: 1, maxLength: 3 }),
    fc.array(
      fc.oneof(
        fc.record({ type: some('text'), text: word }),
        some({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  ),
});

export interface Endpoint {
  path: string;
  body: fc.Arbitrary<Body>;
  /** Share of the requests in percent. */
  share: number;
}

export const endpoints: Endpoint[] = [
  { path: '/v1/chat/completions', body: chatRequest, share: 25 },
  { path: '/v1/chat/completions/input_tokens', body: chatRequest, share: 4 },
  { path: '/v1/responses', body: responsesRequest, share: 26 },
  { path: '/v1/messages', body: messagesRequest, share: 26 },
  { path: '/v1/messages/count_tokens', body: messagesPrompt, share: 6 },
  { path: '/v1/responses/input_tokens', body: responsesRequest, share: 6 },
  { path: '/v1/embeddings', body: embeddingsRequest, share: 4 },
  { path: '/v1/rerank', body: rerankRequest, share: 1 },
  { path: '/v1/score', body: scoreRequest, share: 1 },
  { path: '/v1/moderations', body: moderationsRequest, share: 1 },
];
