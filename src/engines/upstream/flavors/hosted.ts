import type { FlavorTraits } from './traits.ts';
import { allAbilities, maxTokens, usual, words } from './usual.ts';

// What services do that others run, and why that is believed: documented, where nothing else is said.

/** Thoughts of other models, in conversations that went on from those: the services that refuse what they do not know. */
const thoughts = words('messages.reasoning messages.reasoning_content');

const service: FlavorTraits = {
  ...usual,
  liveness: 'chat', // the list of models is told by another machine than the one that hangs
};

export const openai: FlavorTraits = {
  ...service,
  // Encrypted reasoning, custom tools and the phases of an answer are lost otherwise.
  formats: { responses: 'native' },
  // From GPT-5 on, with grammars of lark and regex; older models refuse them.
  customTools: /^gpt-(?:[5-9]|\d\d)/,
  completions: allAbilities, // by models that have them; the others say so
  // Any that is not known is refused, and others (service_tier, web_search_options) cost extra.
  fields: words('prediction prompt_cache_key prompt_cache_retention verbosity'),
  rootUnions: 'refused', // "must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'... at the top level"
  callIds: /^.{1,40}$/, // longer ones are refused, and vLLM makes such (opencode #12653, vercel/ai #5171)
  without: thoughts, // newer models refuse any member of messages that is not in its schema
  names: { max_tokens: 'max_completion_tokens' }, // models that reason refuse the older name, all take the newer
  developerRole: true,
  // Each generation has words of its own, and refuses the others (probed by others, model by model, in July 2026).
  models: [
    [/^(?:gpt-[34]|chatgpt)/, { effort: 'left out' }], // they do not reason, and refuse the member
    [/^o\d/, { effort: { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' } }],
    [/^gpt-5(?!\.)/, { effort: { none: 'minimal', xhigh: 'high', max: 'high' } }],
    [/^gpt-5\.1/, { effort: { minimal: 'low', xhigh: 'high', max: 'high' } }],
    [/^gpt-5\.[2-5]/, { effort: { minimal: 'low', max: 'xhigh' } }],
    [/^gpt-5\./, { effort: { minimal: 'low' } }],
    [/^gpt-\d/, { effort: { none: 'low', minimal: 'low' } }],
  ],
  tokenCounters: [], // it counts requests of another format only
  // The account is out of credit (429), or at the limit it set itself (400). Others call a rate so.
  failures: [
    { code: 'insufficient_quota', means: 402 },
    { code: 'billing_hard_limit_reached', means: 402 },
  ],
};

export const azure: FlavorTraits = {
  ...openai,
  formats: {}, // it has responses at one of its addresses, not below that of a deployment
  auth: { header: 'api-key', scheme: '' }, // the bearer is for tokens of Entra ID
  fields: [], // what it takes depends on the version of the API, and it refuses the rest
  names: {}, // older versions and models know max_tokens alone
};

export const openrouter: FlavorTraits = {
  ...service, // what of it there is depends on the model, and on whoever runs that
  completions: ['raw'], // one text is documented
  fields: words('top_k min_p top_a repetition_penalty verbosity reasoning'),
  without: ['messages.reasoning_content'], // thoughts are documented as reasoning
  names: { ...maxTokens, repeat_penalty: 'repetition_penalty' },
  effort: { max: 'xhigh' }, // none to xhigh are documented, for every model
  reasoningDetails: true, // Gemini and Kimi are refused without (400)
  cacheControl: true, // Claude and Gemini keep nothing without it there
  asStream: 'at once', // comments come while whoever runs the model is silent
};

export const gemini: FlavorTraits = {
  ...service,
  fields: [], // any that is not known is refused (page-assist #418)
  without: ['seed', 'frequency_penalty', ...thoughts], // refused as unknown names (page-assist #418, ChatterUI #227)
  signsCalls: 'needed', // a call without the signature that came in its extra_content is a 400
  // minimal, low, medium and high are documented, none by models that can go without.
  effort: { xhigh: 'high', max: 'high' },
  models: [
    [/(?:^|\/)gemini-(?:2\.5-pro|[3-9])/, { effort: { none: 'minimal', xhigh: 'high', max: 'high' } }],
  ],
  // A key that it refuses, and a country, are an INVALID_ARGUMENT (openai-scala-client #109).
  failures: [
    { status: 400, says: /^API key (not valid|expired)/, means: 401 },
    { status: 400, says: /^User location is not supported/, means: 403 },
  ],
  inputs: ['image', 'audio'],
};

/** Not in the schema of Mistral, which forbids others (crush #1590, mistral-go #2); usage comes without being asked for. */
const unknownToMistral = words(
  'stream_options logprobs top_logprobs logit_bias messages.name messages.refusal',
);

export const mistral: FlavorTraits = {
  ...service,
  fields: ['prediction'], // any that is not known is refused (mistralai/platform-docs-public #7)
  without: unknownToMistral,
  // high and none are all that its models of 2026 take; by none they think as little as they can.
  effort: { minimal: 'none', low: 'high', medium: 'high', xhigh: 'high', max: 'high' },
  thinkingParts: true,
  prefixesLast: true,
  models: [
    [/^mistral-large-[4-9]/, { effort: { minimal: 'low', xhigh: 'high', max: 'high' } }],
    // Those that do not think refuse to be asked for it (hermes-agent #11243, celeste-python #311).
    [
      /^(?:codestral|devstral|ministral|pixtral|voxtral|open-|magistral-medium|mistral-(?:tiny|nemo|saba|large|(?:small|medium)-2[0-5]))/,
      { effort: 'left out', thinkingParts: false, without: [...unknownToMistral, ...thoughts] },
    ],
  ],
  names: { ...maxTokens, seed: 'random_seed' },
  callIds: /^[a-zA-Z0-9]{9}$/, // others are refused (opencode #1680, langchain #24668)
  asStream: 'queued', // thoughts come as they are thought
  inputs: ['image'],
};

export const deepseek: FlavorTraits = {
  ...service,
  fields: ['thinking'],
  jsonSchema: 'none', // json_object alone is documented
  // low, high and max are documented beside the switch, and what the others are taken for.
  effort: {
    none: { reasoning_effort: null, thinking: { type: 'disabled' } },
    minimal: 'low',
    medium: 'high',
    xhigh: 'high',
  },
  without: ['messages.reasoning'], // thoughts are reasoning_content, and needed of every turn that called tools
  asStream: 'at once', // comments come while a request waits, and thoughts as they are thought
  inputs: [], // text alone is documented
};

/** Penalties are refused by every current model, at zero too (open-webui #21266); thoughts are documented as reasoning_content. */
const unknownToXai = words('frequency_penalty presence_penalty messages.reasoning');

export const xai: FlavorTraits = {
  ...service,
  names: {}, // both names of the limit are documented
  // Models that reason refuse stop sequences; the answer is cut here.
  without: [...unknownToXai, 'stop'],
  // low, medium and high are documented; current models cannot go without thinking.
  effort: { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' },
  models: [
    [/non-reasoning|^grok-(?:2|3(?!-mini))/, { effort: 'left out', without: unknownToXai }],
    [/^grok-4\.[6-9]/, { effort: { none: 'low', minimal: 'low', max: 'xhigh' } }],
    [/^grok-4\.3/, { effort: { minimal: 'low', xhigh: 'high', max: 'high' } }],
    [/^grok-3-mini/, { effort: { none: 'low', minimal: 'low', medium: 'low', xhigh: 'high', max: 'high' } }],
    // The member itself is refused (hermes-agent #23088).
    [/^grok-(?:4(?!\.\d)|4\.20(?!-multi)|code|build|beta)/, { effort: 'left out' }],
  ],
  // Seen with a wrong key (codex #1352) and without credit (continue #10373).
  failures: [
    { status: 400, says: /^Incorrect API key provided/, means: 401 },
    { status: 429, says: /^Your team \S+ has either used all available credits/, means: 402 },
  ],
  inputs: ['image'],
};

export const anthropic: FlavorTraits = {
  ...service,
  // By this version the fields for sampling are still read.
  auth: { header: 'x-api-key', scheme: '', beside: { 'anthropic-version': '2023-06-01' } },
  longToolNames: true, // up to 128
  dialect: 'messages', // its chat completions ignore formats and strict tools
  rootUnions: 'refused', // "input_schema does not support oneOf, allOf, or anyOf at the top level"
  formats: { messages: 'native' }, // signed thinking, marks for its cache and citations are lost otherwise
  // Schemas go as output_config.format; models that do not have it refuse it.
  fields: words('top_k thinking_budget_tokens'), // by some models
  names: {}, // all members are translated
  // How hard to think is translated by the generation of the model (`messages/thinking.ts`).
  tokenCounters: ['count_tokens'],
  noEmbeddings: true,
  inputs: ['image', 'file'],
};
