import type { Members, Shape } from '../../../wire/json/pick-members.ts';
import type { FlavorTraits } from '../flavors/traits.ts';

/** Allow-list of request members: others could choose models, hosts to fetch from, code, priorities and grammars. */

/** Members with any content. */
const plain = (names: string): [string, Shape][] => names.split(/\s+/).map((name) => [name, 'anything']);

export const object = (names: string, inner: Record<string, Shape> = {}): Members =>
  new Map([...(names === '' ? [] : plain(names)), ...Object.entries(inner)]);

const content = object('type text refusal', {
  image_url: object('url detail'),
  input_audio: object('data format'),
  file: object('file_data filename'),
});

const messages = object('role name tool_call_id refusal reasoning reasoning_content', {
  content,
  tool_calls: object('id type', { function: object('name arguments') }),
});

const signedCalls = object('', {
  tool_calls: object('id type', {
    function: object('name arguments'),
    extra_content: object('', { google: object('thought_signature') }),
  }),
});

const detailedThoughts = object('', {
  reasoning_details: object('type id format index text summary data signature'),
});

const functionMembers = object('name description parameters strict');

/** Members sent to every server, unless its flavor lacks them. */
const forAll = object(
  `model stream stream_options max_tokens max_completion_tokens temperature top_p n stop seed logprobs top_logprobs
  logit_bias frequency_penalty presence_penalty parallel_tool_calls reasoning_effort`,
  {
    messages,
    response_format: object('type', { json_schema: object('name description strict schema') }),
    tools: object('type', { function: functionMembers }),
    tool_choice: object('type', { function: object('name') }),
  },
);

const cacheControl: [string, Shape] = ['cache_control', object('type ttl')];

/** Members for servers that read `cache_control`. */
const markedContent: [string, Shape] = ['content', new Map([...content, cacheControl])];
const markedTools: [string, Shape] = [
  'tools',
  new Map([['type', 'anything'], ['function', new Map([...functionMembers, cacheControl])], cacheControl]),
];

/** Members of tools, including custom ones. */
export const customToolMembers: Members = object('type', {
  function: functionMembers,
  custom: object('name description', {
    format: object('type', { grammar: object('syntax definition') }),
  }),
});

/** Flavor-specific members that hold objects. */
const nested: ReadonlyMap<string, Shape> = object('', {
  // Other variables would reach the code that renders the prompt.
  chat_template_kwargs: object('enable_thinking thinking reasoning_effort'),
  prediction: object('type', { content: object('type text') }),
  // The switch of DeepSeek, Z.ai and Kimi, with the options of each.
  thinking: object('type budget_tokens clear_thinking keep'),
  // OpenRouter's form of reasoning_effort.
  reasoning: object('effort max_tokens exclude enabled'),
});

/** Members of a chat request. @param passThrough members that the operator lets through with any content */
export function chatMembers(
  traits: Pick<
    FlavorTraits,
    'fields' | 'names' | 'without' | 'signsCalls' | 'reasoningDetails' | 'cacheControl'
  >,
  passThrough: readonly string[],
): Members {
  const { fields, names, without, signsCalls, reasoningDetails, cacheControl: isMarked } = traits;
  const ofMessages = [
    ...messages,
    ...(signsCalls ? signedCalls : []),
    ...(reasoningDetails ? detailedThoughts : []),
    ...(isMarked ? [markedContent] : []),
  ];
  const lacks = (place: string) => (entry: [string, Shape]) => !without.includes(place + entry[0]);
  const common: Members = new Map([
    ...[...forAll, ...(isMarked ? [cacheControl, markedTools] : [])].filter(lacks('')),
    ['messages', new Map(ofMessages.filter(lacks('messages.')))],
  ]);
  const own = [...fields, ...Object.keys(names)];
  const shapes = own.map((name): [string, Shape] => [name, nested.get(name) ?? 'anything']);
  return new Map([...common, ...shapes, ...anything(passThrough)]);
}

/** Flavor-specific members about rendering or reasoning, which raw completions lack. */
export const chatOnlyMembers: ReadonlySet<string> = new Set(
  `chat_template_kwargs thinking_budget_tokens thinking reasoning prediction prompt_cache_key prompt_cache_retention verbosity
  max_completion_tokens`.split(/\s+/),
);

export function completionsMembers(
  { fields, names, without }: Pick<FlavorTraits, 'fields' | 'names' | 'without'>,
  passThrough: readonly string[],
): Members {
  const common =
    `model prompt suffix stream stream_options max_tokens temperature top_p n best_of stop seed echo logprobs
    logit_bias frequency_penalty presence_penalty`.split(/\s+/);
  const own = [...fields, ...Object.keys(names)].filter((name) => !chatOnlyMembers.has(name));
  const known = [...common.filter((name) => !without.includes(name)), ...own];
  return new Map(anything([...known, ...passThrough]));
}

/** Members with any content. */
export const named = (names: string): Members => new Map(plain(names));

export const anything = (names: readonly string[]) =>
  names.map((name): [string, Shape] => [name, 'anything']);
