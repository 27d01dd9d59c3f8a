import type { FlavorTraits } from './traits.ts';
import { allAbilities, maxTokens, usual, words } from './usual.ts';

// What servers do that people run themselves, and why that is believed. Messages and responses are told to them as chats: newer
// versions have both, and none tells which it is; what they make of tools differs by version.

export const vllm: FlavorTraits = {
  ...usual,
  longToolNames: true,
  completions: ['raw', 'lists', 'tokens', 'n', 'echo'], // a suffix is refused, best_of is passed over
  jsonSchema: 'native', // but guided decoding is skipped with some reasoning parsers (vllm #52594)
  schemas: { mostRepeats: Infinity }, // xgrammar drops what stands beside anyOf and $ref
  // The call is forced, and its arguments are held to the schema only where the tool says strict.
  forcedTool: 'strict',
  prefixCache: 'shared', // blocks of the cache are found by their content (automatic prefix caching)
  // Documented as sampling; its budget of thinking has another name, and is refused unless it was started for it.
  fields: words(
    `top_k min_p repetition_penalty min_tokens stop_token_ids bad_words include_stop_str_in_output
      skip_special_tokens chat_template_kwargs`,
  ),
  // Every version knows max_tokens; old ones know no other.
  names: { ...maxTokens, repeat_penalty: 'repetition_penalty' },
  splitChoices: 'greedy', // it refuses with 400 to make several where nothing is left to chance
  openLimit: true, // max_tokens beyond max_model_len is a 400; left out, it is what the prompt leaves
  effort: 'switch', // every word is taken today, and given to the template; older versions refuse none
  tokenCounters: ['messages'], // /tokenize renders messages as chat completions do
  // max_model_len stands in /v1/models, num_requests_waiting in /metrics; its slots are not told.
  report: 'vllm',
  // Names and adapters that it has are listed; one that is loaded when it is asked for opens with its first request.
  listsAll: true,
  liveness: 'vllm', // the door answers whatever the engine does, which is a process of its own
  inputs: ['image', 'audio'], // a part of another type is refused
};

export const sglang: FlavorTraits = {
  ...usual,
  without: ['messages.reasoning'], // templates are given thoughts as reasoning_content
  longToolNames: true,
  completions: ['raw', 'lists', 'tokens', 'n', 'echo'], // a suffix is for models with a template for it
  jsonSchema: 'native', // grammar backend behind response_format
  schemas: { mostRepeats: Infinity }, // xgrammar
  forcedTool: 'native', // a named tool becomes a grammar of its parameters
  prefixCache: 'shared', // one radix tree for all requests
  // Documented as sampling; it has no budget of thinking.
  fields: words(
    `top_k min_p repetition_penalty min_tokens stop_token_ids skip_special_tokens chat_template_kwargs`,
  ),
  names: { ...maxTokens, repeat_penalty: 'repetition_penalty' }, // every version knows max_tokens
  // Every word is taken today; none switches the template, in older versions only by its variables.
  effort: 'switch',
  tokenCounters: ['text'], // /tokenize does not know messages
  // max_model_len stands in /v1/models, num_queue_reqs in /metrics where it was started with them.
  report: 'sglang',
  liveness: 'sglang', // the door answers whatever the engine does, which is a process of its own
  inputs: ['image', 'audio'], // there is no part for files
};

export const llamaServer: FlavorTraits = {
  ...usual,
  without: ['messages.reasoning'], // templates are given thoughts as reasoning_content
  longToolNames: true,
  // Echo, best_of and suffix are passed over; of n answers and of several prompts the tokens of one are told.
  completions: ['raw', 'tokens'],
  splitChoices: 'always', // the usage of n choices is that of one of them; older versions make one
  jsonSchema: 'native', // response_format becomes a grammar
  schemas: { mostRepeats: 1_900 }, // near 2,000 it refuses the grammar (400 "failed to parse grammar")
  forcedTool: 'filter', // an object as tool_choice is read as "auto" (llama.cpp #26535); "required" works
  prefixCache: 'slot', // each keeps its own prompt; the cache in RAM behind them may be switched off
  // Documented as sampling; the budget is read where the server itself has none.
  fields: words(
    `top_k min_p typical_p top_n_sigma xtc_probability xtc_threshold dynatemp_range dynatemp_exponent repeat_penalty
      repeat_last_n dry_multiplier dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers mirostat
      mirostat_tau mirostat_eta chat_template_kwargs thinking_budget_tokens`,
  ),
  // max_tokens is the one name that all versions read.
  names: { ...maxTokens, repetition_penalty: 'repeat_penalty' },
  effort: 'template', // reasoning_effort itself is not read by every version
  tokenCounters: ['input_tokens', 'template'], // the first came in 2026, the others are older
  // Tells total_slots, the context of one and the modalities; /v1/models answers while it loads, too.
  // A grammar that lets a quote into a string, or bytes that are no UTF-8: the same request fails again.
  failures: [
    { status: 500, says: /^The model produced output that does not match the expected/, means: 400 },
  ],
  report: 'props',
  progress: 'return_progress', // an event a batch of the prompt, 2,048 tokens; older versions pass it over
  // Cheap for the few requests it takes; a plain one that was left keeps its slot for seconds.
  asStream: 'queued',
  liveness: 'slots', // answered by the loop that decodes; /props and /v1/models are not
  inputs: ['image', 'audio'], // with a projector; a part of another type is refused
};

export const ollama: FlavorTraits = {
  ...usual,
  without: ['messages.reasoning_content'], // thoughts are read as reasoning
  longToolNames: true,
  // A text goes through the chat template unless there is a suffix; echo and n are not read.
  completions: ['suffix'],
  jsonSchema: 'native', // format since 0.5; not enforced by every model (ollama #14645)
  schemas: { mostRepeats: 1_900 }, // llama.cpp
  forcedTool: 'none', // tool_choice is not read at all (ollama #17921)
  prefixCache: 'slot', // runs llama.cpp, whose slots keep a prompt each
  fields: [], // its chat completions know no other; the rest is set in the Modelfile
  names: maxTokens, // the newer name is not read
  effort: { minimal: 'low', xhigh: 'max' }, // only none, low, medium, high and max are taken by every model
  tokenCounters: [], // it has none (ollama #4186)
  // Capabilities and context of the model; one that is not there is found before a request finds it.
  report: 'show',
  liveness: 'door', // it listens while it works; a small chat would wait behind long ones
  truncatesPrompts: true, // the oldest messages go first, then the middle of what is left
  inputs: ['image'], // images alone are documented
};

export const offpeak: FlavorTraits = {
  ...usual,
  formats: { messages: 'native', responses: 'native' }, // passes on what its own engine takes
  completions: allAbilities, // refuses by itself what its engine cannot
  jsonSchema: 'exact', // conformed to or an error, whatever the engine behind it
  schemas: 'any',
  forcedTool: 'exact', // forced or an error, whatever the engine behind it
  prefixCache: 'shared', // what stands behind it is not known; leader first serves most
  // Sorts them out itself.
  fields: words(
    `top_k min_p repeat_penalty repetition_penalty thinking_budget_tokens chat_template_kwargs prediction
      prompt_cache_key prompt_cache_retention verbosity thinking reasoning`,
  ),
  names: {}, // takes all of them
  developerRole: true, // maps it where needed
  cacheControl: true, // passes it on where it is read
  signsCalls: 'passed on', // what stands behind it may
  reasoningDetails: true, // likewise
  effort: 'as given', // translates it for the engine behind it
  tokenCounters: ['input_tokens'], // our own
  listsAll: true, // all that the key may use, with their aliases
  liveness: 'door', // it answers while it works; a small chat would wait behind long ones
  inputs: ['image', 'audio', 'file'], // refuses by itself what its model does not take
};

/** Nothing is known of it: what it promises is asked for and checked. */
export const generic: FlavorTraits = {
  ...usual,
  completions: allAbilities,
  // What most servers of open models take.
  fields: words('top_k min_p repeat_penalty repetition_penalty chat_template_kwargs thinking'),
  reasoningDetails: true, // it may be like OpenRouter
};
