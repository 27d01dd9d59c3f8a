import {
  native,
  shared,
  no,
  fields,
  newerHaveBoth,
  completions,
  maxTokens,
  byTemplate,
  usual,
} from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const vllm: FlavorTraits = {
  ...usual,
  speaks: newerHaveBoth,
  completions: completions(
    ['raw', 'lists', 'tokens', 'n', 'echo'],
    'a suffix is refused, best_of is passed over',
  ),
  jsonSchema: native('guided decoding, but skipped together with some reasoning parsers (vllm #52594)'),
  forcedTool: {
    value: 'strict',
    reason: 'the call is forced, and its arguments are held to the schema only where the tool says strict',
  },
  prefixCache: shared('blocks of the cache are found by their content (automatic prefix caching)'),
  fields: fields(
    `top_k min_p repetition_penalty min_tokens stop_token_ids bad_words include_stop_str_in_output
      skip_special_tokens chat_template_kwargs`,
    'documented as sampling; its budget of thinking has another name, and is refused unless it was started for it',
  ),
  names: {
    value: { ...maxTokens, repeat_penalty: 'repetition_penalty' },
    reason: 'every version knows max_tokens; old ones know no other',
  },
  choicesApart: {
    value: 'greedy',
    reason: 'it refuses with 400 to make several where nothing is left to chance',
  },
  openLimit: {
    value: true,
    reason: 'max_tokens beyond max_model_len is a 400; left out, it is what the prompt leaves',
  },
  developerRole: no(byTemplate),
  effort: {
    value: 'switch',
    reason: 'every word is taken today, and given to the template; versions before that refuse none',
  },
  counter: { value: ['messages'], reason: '/tokenize renders messages as chat completions do' },
  report: {
    value: 'vllm',
    reason: 'max_model_len stands in /v1/models, num_requests_waiting in /metrics; its slots are not told',
  },
  listsAll: {
    value: true,
    reason:
      'names and adapters that it has are listed; one that is loaded when it is asked for opens with its first request',
  },
  life: { value: 'vllm', reason: 'the door answers whatever the engine does, which is a process of its own' },
  inputs: { value: ['image', 'audio'], reason: 'a part of another type is refused' },
};
