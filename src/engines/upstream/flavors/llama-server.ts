import { native, no, fields, newerHaveBoth, completions, maxTokens, byTemplate, usual } from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const llamaServer: FlavorTraits = {
  ...usual,
  speaks: newerHaveBoth,
  completions: completions(
    ['raw', 'tokens'],
    'echo, best_of and suffix are passed over; of n answers and of several prompts the tokens of one are told',
  ),
  choicesApart: {
    value: 'always',
    reason: 'the usage of n choices is that of one of them; older versions make one',
  },
  jsonSchema: native('response_format becomes a grammar'),
  forcedTool: {
    value: 'filter',
    reason: 'an object as tool_choice is read as "auto" (llama.cpp #26535); "required" works',
  },
  prefixCache: {
    value: 'slot',
    reason: 'each slot keeps its own prompt; the cache in RAM behind them may be switched off',
  },
  fields: fields(
    `top_k min_p typical_p top_n_sigma xtc_probability xtc_threshold dynatemp_range dynatemp_exponent repeat_penalty
      repeat_last_n dry_multiplier dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers mirostat
      mirostat_tau mirostat_eta chat_template_kwargs thinking_budget_tokens`,
    'documented as sampling; the budget is read where the server itself has none',
  ),
  names: {
    value: { ...maxTokens, repetition_penalty: 'repeat_penalty' },
    reason: 'max_tokens is the one name that all versions read',
  },
  developerRole: no(byTemplate),
  effort: { value: 'template', reason: 'reasoning_effort itself is not read by every version' },
  counter: {
    value: ['input_tokens', 'template'],
    reason: 'the first came in 2026, the others are older',
  },
  report: {
    value: 'props',
    reason:
      'tells total_slots, the context of one and the modalities; /v1/models answers while it loads, too',
  },
  progress: {
    value: 'return_progress',
    reason: 'an event a batch of the prompt, 2,048 tokens; older versions pass it over',
  },
  asStream: {
    value: 'queued',
    reason: 'cheap for the few requests it takes; a plain one that was left keeps its slot for seconds',
  },
  life: { value: 'slots', reason: 'answered by the loop that decodes; /props and /v1/models are not' },
  inputs: { value: ['image', 'audio'], reason: 'with a projector; a part of another type is refused' },
};
