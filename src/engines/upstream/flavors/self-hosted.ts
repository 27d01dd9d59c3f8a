import type { FlavorTraits } from './traits.ts';
import { allAbilities, maxTokens, usual, words } from './usual.ts';

// Traits of self-hosted servers, with their reasons. Messages and responses are translated to chats: only newer versions have
// them, with different support of tools, and no server reports its version.

export const vllm: FlavorTraits = {
  ...usual,
  longToolNames: true,
  completions: ['raw', 'lists', 'tokens', 'n', 'echo'], // a suffix is refused, best_of is ignored
  jsonSchema: 'native', // guided decoding is skipped with some reasoning parsers (vllm #52594)
  schemas: { maxRepeats: Infinity }, // xgrammar ignores keywords alongside anyOf and $ref
  // The call is forced, but its arguments follow the schema only for strict tools.
  forcedTool: 'strict',
  prefixCache: 'shared', // automatic prefix caching finds blocks by content
  cacheSalt: true, // since 0.9; /v1/messages takes none
  // Documented sampling parameters; its thinking budget has another name and needs a start option.
  fields: words(
    `top_k min_p repetition_penalty min_tokens stop_token_ids bad_words include_stop_str_in_output
      skip_special_tokens chat_template_kwargs`,
  ),
  // Every version knows max_tokens, old ones only that.
  names: { ...maxTokens, repeat_penalty: 'repetition_penalty' },
  splitChoices: 'greedy', // several greedy choices result in a 400
  openLimit: true, // max_tokens beyond max_model_len results in a 400; without it, the prompt's remainder applies
  effort: 'switch', // every word is accepted and given to the template; older versions refuse none
  tokenCounters: ['messages'], // /tokenize renders messages as chat completions do
  // max_model_len is in /v1/models, num_requests_waiting in /metrics; slots are not reported.
  report: 'vllm',
  // Loaded names and adapters are listed; an adapter loaded on demand appears with its first request.
  listsAll: true,
  liveness: 'vllm', // its engine is a separate process, so any reply proves little
  inputs: ['image', 'audio'], // other parts are refused
};

export const sglang: FlavorTraits = {
  ...usual,
  without: ['messages.reasoning'], // templates get reasoning_content
  longToolNames: true,
  scoresByRerank: true, // its /v1/score rates the tokens of labels
  completions: ['raw', 'lists', 'tokens', 'n', 'echo'], // a suffix needs a model with a template for it
  jsonSchema: 'native', // through its grammar backend
  schemas: { maxRepeats: Infinity }, // xgrammar
  forcedTool: 'native', // a named tool becomes a grammar of its parameters
  prefixCache: 'shared', // one radix tree for all requests
  cacheSalt: true, // since 0.5.3, as part of its extra key
  // Documented sampling parameters; it has no thinking budget.
  fields: words(
    `top_k min_p repetition_penalty min_tokens stop_token_ids skip_special_tokens chat_template_kwargs`,
  ),
  names: { ...maxTokens, repeat_penalty: 'repetition_penalty' }, // every version knows max_tokens
  // Every word is accepted; none switches the template, in older versions only through its variables.
  effort: 'switch',
  tokenCounters: ['text'], // /tokenize takes no messages
  // max_model_len is in /v1/models, num_queue_reqs in /metrics if started with them.
  report: 'sglang',
  liveness: 'sglang', // its engine is a separate process, so any reply proves little
  inputs: ['image', 'audio'], // no part for files exists
};

export const llamaServer: FlavorTraits = {
  ...usual,
  without: ['messages.reasoning'], // templates get reasoning_content
  longToolNames: true,
  scoresByRerank: true,
  // Echo, best_of and suffix are ignored; usage covers one of several answers or prompts.
  completions: ['raw', 'tokens'],
  splitChoices: 'always', // usage covers one of n choices; older versions make one
  jsonSchema: 'native', // response_format becomes a grammar
  schemas: { maxRepeats: 1_900 }, // near 2,000 the grammar is refused (400 "failed to parse grammar")
  forcedTool: 'filter', // an object as tool_choice is read as "auto" (llama.cpp #26535); "required" works
  prefixCache: 'slot', // each slot keeps its prompt; the RAM cache behind them may be off
  // Documented sampling parameters; the budget is read where the server has none.
  fields: words(
    `top_k min_p typical_p top_n_sigma xtc_probability xtc_threshold dynatemp_range dynatemp_exponent repeat_penalty
      repeat_last_n dry_multiplier dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers mirostat
      mirostat_tau mirostat_eta chat_template_kwargs thinking_budget_tokens`,
  ),
  // All versions read max_tokens.
  names: { ...maxTokens, repetition_penalty: 'repeat_penalty' },
  effort: 'template', // not every version reads reasoning_effort
  tokenCounters: ['input_tokens', 'template'], // the first came in 2026
  // A grammar that permits quotes in strings, or invalid UTF-8: the same request fails again.
  failures: [
    { status: 500, says: /^The model produced output that does not match the expected/, means: 400 },
  ],
  report: 'props', // total_slots, their context and the modalities; /v1/models replies even while loading
  progress: 'return_progress', // one event for each 2,048 tokens of the prompt; older versions ignore it
  // Cheap for few requests; without streaming, an abandoned request keeps its slot for seconds.
  asStream: 'queued',
  liveness: 'slots', // answered by the decoding loop, unlike /props and /v1/models
  inputs: ['image', 'audio'], // with a projector; other parts are refused
};

export const ollama: FlavorTraits = {
  ...usual,
  without: ['messages.reasoning_content'], // reasoning is read
  longToolNames: true,
  // Texts go through the chat template unless there is a suffix; echo and n are ignored.
  completions: ['suffix'],
  jsonSchema: 'native', // format since 0.5; not enforced by every model (ollama #14645)
  schemas: { maxRepeats: 1_900 }, // llama.cpp
  forcedTool: 'none', // tool_choice is ignored (ollama #17921)
  prefixCache: 'slot', // llama.cpp, whose slots keep one prompt each
  fields: [], // unknown to its chat completions; set in the Modelfile
  names: maxTokens, // the newer name is ignored
  effort: { minimal: 'low', xhigh: 'max' }, // every model accepts only none, low, medium, high and max
  tokenCounters: [], // none exists (ollama #4186)
  report: 'show', // capabilities and context; a missing model shows before the first request
  liveness: 'door', // replies while it works; a small chat would queue behind long ones
  truncatesPrompts: true, // the oldest messages first, then the middle of the rest
  inputs: ['image'], // only images are documented
};

export const offpeak: FlavorTraits = {
  ...usual,
  formats: { messages: 'native', responses: 'native' }, // passed on where its engine supports them
  completions: allAbilities, // refuses what its engine lacks
  jsonSchema: 'exact', // guaranteed or an error, on any engine
  schemas: 'any',
  forcedTool: 'exact', // guaranteed or an error, on any engine
  prefixCache: 'shared', // its engine is unknown; warming up suits most
  // It selects those of its engine.
  fields: words(
    `top_k min_p repeat_penalty repetition_penalty thinking_budget_tokens chat_template_kwargs prediction
      prompt_cache_key prompt_cache_retention verbosity thinking reasoning`,
  ),
  names: {}, // accepts all of them
  developerRole: true, // maps it where needed
  cacheControl: true, // passed on where supported
  signsCalls: 'passed on', // its engine may
  reasoningDetails: true, // likewise
  effort: 'as given', // translated for its engine
  tokenCounters: ['input_tokens'], // our own
  listsAll: true, // all models of the key, with aliases
  liveness: 'door', // replies while it works; a small chat would queue behind long ones
  inputs: ['image', 'audio', 'file'], // refuses what its model lacks
};

/** An unknown server: guarantees are requested and checked. */
export const generic: FlavorTraits = {
  ...usual,
  completions: allAbilities,
  // Accepted by most servers of open models.
  fields: words('top_k min_p repeat_penalty repetition_penalty chat_template_kwargs thinking'),
  reasoningDetails: true, // it may be similar to OpenRouter
};
