import { native, shared, no, fields, completions, maxTokens, byTemplate, usual } from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const sglang: FlavorTraits = {
  ...usual,
  completions: completions(
    ['raw', 'lists', 'tokens', 'n', 'echo'],
    'a suffix is for models with a template for it',
  ),
  jsonSchema: native('grammar backend behind response_format'),
  forcedTool: native('a named tool becomes a grammar of its parameters'),
  prefixCache: shared('one radix tree for all requests'),
  fields: fields(
    'top_k min_p repetition_penalty min_tokens stop_token_ids skip_special_tokens chat_template_kwargs',
    'documented as sampling; it has no budget of thinking',
  ),
  names: {
    value: { ...maxTokens, repeat_penalty: 'repetition_penalty' },
    reason: 'every version knows max_tokens',
  },
  developerRole: no(byTemplate),
  effort: {
    value: 'switch',
    reason: 'every word is taken today; none switches the template, in older versions only by its variables',
  },
  counter: { value: ['text'], reason: '/tokenize does not know messages' },
  report: {
    value: 'sglang',
    reason: 'max_model_len stands in /v1/models, num_queue_reqs in /metrics where it was started with them',
  },
  life: {
    value: 'sglang',
    reason: 'the door answers whatever the engine does, which is a process of its own',
  },
  inputs: { value: ['image', 'audio'], reason: 'there is no part for files' },
};
