import type { FlavorTraits } from './traits.ts';
import { allAbilities, maxTokens, usual, words } from './usual.ts';

// Traits of hosted services. Their source is the documentation, unless a comment names another.

/** Reasoning of other models in a conversation, which services that refuse unknown members are not sent. */
const reasoningMembers = words('messages.reasoning messages.reasoning_content');

const service: FlavorTraits = {
  ...usual,
  liveness: 'chat', // another machine lists the models
};

export const openai: FlavorTraits = {
  ...service,
  // Translation would lose encrypted reasoning, custom tools and the phases of an answer.
  formats: { responses: 'native' },
  // From GPT-5 on, with grammars of lark and regex; older models refuse them.
  customTools: /^gpt-(?:[5-9]|\d\d)/,
  completions: allAbilities, // models without them refuse
  // Unknown members are refused; others (service_tier, web_search_options) cost extra.
  fields: words('prediction prompt_cache_key prompt_cache_retention verbosity'),
  rootUnions: 'refused', // "must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'... at the top level"
  callIds: /^.{1,40}$/, // longer ones, as of vLLM, are refused (opencode #12653, vercel/ai #5171)
  without: reasoningMembers, // newer models refuse unknown members of messages
  names: { max_tokens: 'max_completion_tokens' }, // reasoning models refuse the older name, all accept the newer
  developerRole: true,
  // Each generation has its own words and refuses others (as others probed, model by model, in July 2026).
  models: [
    [/^(?:gpt-[34]|chatgpt)/, { effort: 'left out' }], // no reasoning: the member is refused
    [/^o\d/, { effort: { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' } }],
    [/^gpt-5(?!\.)/, { effort: { none: 'minimal', xhigh: 'high', max: 'high' } }],
    [/^gpt-5\.1/, { effort: { minimal: 'low', xhigh: 'high', max: 'high' } }],
    [/^gpt-5\.[2-5]/, { effort: { minimal: 'low', max: 'xhigh' } }],
    [/^gpt-5\./, { effort: { minimal: 'low' } }],
    [/^gpt-\d/, { effort: { none: 'low', minimal: 'low' } }],
  ],
  tokenCounters: [], // counts requests of another format only
  // The account has no credit (429) or has reached its own limit (400). Elsewhere these codes mean a rate limit.
  failures: [
    { code: 'insufficient_quota', means: 402 },
    { code: 'billing_hard_limit_reached', means: 402 },
  ],
};

export const azure: FlavorTraits = {
  ...openai,
  formats: {}, // responses have another address than deployments
  auth: { header: 'api-key', scheme: '' }, // bearer tokens are those of Entra ID
  fields: [], // depends on the API version; others are refused
  names: {}, // older versions and models know only max_tokens
};

export const openrouter: FlavorTraits = {
  ...service, // abilities depend on the model and its provider
  completions: ['raw'], // a single text is documented
  fields: words('top_k min_p top_a repetition_penalty verbosity reasoning'),
  without: ['messages.reasoning_content'], // reasoning is documented
  names: { ...maxTokens, repeat_penalty: 'repetition_penalty' },
  effort: { max: 'xhigh' }, // none to xhigh are documented, for every model
  reasoningDetails: true, // Gemini and Kimi refuse conversations without (400)
  cacheControl: true, // Claude and Gemini cache nothing without it
  asStream: 'at once', // comments bridge the silence of the provider
};

export const gemini: FlavorTraits = {
  ...service,
  fields: [], // unknown members are refused (page-assist #418)
  without: ['seed', 'frequency_penalty', ...reasoningMembers], // refused as unknown names (page-assist #418, ChatterUI #227)
  signsCalls: 'needed', // a call without the signature of its extra_content results in a 400
  // minimal, low, medium and high are documented, and none for models that can skip reasoning.
  effort: { xhigh: 'high', max: 'high' },
  models: [
    [/(?:^|\/)gemini-(?:2\.5-pro|[3-9])/, { effort: { none: 'minimal', xhigh: 'high', max: 'high' } }],
  ],
  // Wrong keys and blocked countries are INVALID_ARGUMENT (openai-scala-client #109).
  failures: [
    { status: 400, says: /^API key (not valid|expired)/, means: 401 },
    { status: 400, says: /^User location is not supported/, means: 403 },
  ],
  inputs: ['image', 'audio'],
};

/** Not in Mistral's schema, which forbids other members (crush #1590, mistral-go #2); usage is always sent. */
const unknownToMistral = words(
  'stream_options logprobs top_logprobs logit_bias messages.name messages.refusal',
);

export const mistral: FlavorTraits = {
  ...service,
  fields: ['prediction'], // unknown members are refused (mistralai/platform-docs-public #7)
  without: unknownToMistral,
  // The models of 2026 accept only high and none; none minimizes reasoning.
  effort: { minimal: 'none', low: 'high', medium: 'high', xhigh: 'high', max: 'high' },
  thinkingParts: true,
  prefixesLast: true,
  models: [
    [/^mistral-large-[4-9]/, { effort: { minimal: 'low', xhigh: 'high', max: 'high' } }],
    // Models without reasoning refuse the member (hermes-agent #11243, celeste-python #311).
    [
      /^(?:codestral|devstral|ministral|pixtral|voxtral|open-|magistral-medium|mistral-(?:tiny|nemo|saba|large|(?:small|medium)-2[0-5]))/,
      { effort: 'left out', thinkingParts: false, without: [...unknownToMistral, ...reasoningMembers] },
    ],
  ],
  names: { ...maxTokens, seed: 'random_seed' },
  callIds: /^[a-zA-Z0-9]{9}$/, // others are refused (opencode #1680, langchain #24668)
  asStream: 'queued', // reasoning is streamed
  inputs: ['image'],
};

export const deepseek: FlavorTraits = {
  ...service,
  fields: ['thinking'],
  jsonSchema: 'none', // only json_object is documented
  // The switch and low, high and max are documented, with the mapping of the others.
  effort: {
    none: { reasoning_effort: null, thinking: { type: 'disabled' } },
    minimal: 'low',
    medium: 'high',
    xhigh: 'high',
  },
  without: ['messages.reasoning'], // reasoning_content is needed in every turn with calls
  asStream: 'at once', // comments bridge the queue, and reasoning is streamed
  inputs: [], // only text is documented
};

/** Every current model refuses penalties, even 0 (open-webui #21266); reasoning is documented as reasoning_content. */
const unknownToXai = words('frequency_penalty presence_penalty messages.reasoning');

export const xai: FlavorTraits = {
  ...service,
  names: {}, // both names of the limit are documented
  // Reasoning models refuse stop sequences; answers are cut here instead.
  without: [...unknownToXai, 'stop'],
  // low, medium and high are documented; current models always reason.
  effort: { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' },
  models: [
    [/non-reasoning|^grok-(?:2|3(?!-mini))/, { effort: 'left out', without: unknownToXai }],
    [/^grok-4\.[6-9]/, { effort: { none: 'low', minimal: 'low', max: 'xhigh' } }],
    [/^grok-4\.3/, { effort: { minimal: 'low', xhigh: 'high', max: 'high' } }],
    [/^grok-3-mini/, { effort: { none: 'low', minimal: 'low', medium: 'low', xhigh: 'high', max: 'high' } }],
    // The member is refused (hermes-agent #23088).
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
  // This version still reads the sampling members.
  auth: { header: 'x-api-key', scheme: '', extraHeaders: { 'anthropic-version': '2023-06-01' } },
  longToolNames: true, // up to 128
  dialect: 'messages', // its chat completions ignore response formats and strict tools
  rootUnions: 'refused', // "input_schema does not support oneOf, allOf, or anyOf at the top level"
  formats: { messages: 'native' }, // translation would lose signed thinking, cache marks and citations
  // Schemas are sent as output_config.format, which some models refuse.
  fields: words('top_k thinking_budget_tokens'), // by some models
  names: {}, // all members are translated
  // The effort depends on the generation of the model (`messages/thinking.ts`).
  tokenCounters: ['count_tokens'],
  noEmbeddings: true,
  inputs: ['image', 'file'],
};
