import { native, shared, fields, completions, all, usual } from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const offpeak: FlavorTraits = {
  ...usual,
  speaks: {
    messages: native('passes on what its own engine takes'),
    responses: native('passes on what its own engine takes'),
  },
  completions: completions(all, 'refuses by itself what its engine cannot'),
  jsonSchema: { value: 'exact', reason: 'conformed to or an error, whatever the engine behind it' },
  forcedTool: { value: 'exact', reason: 'forced or an error, whatever the engine behind it' },
  prefixCache: shared('what stands behind it is not known; leader first serves most'),
  fields: fields(
    `top_k min_p repeat_penalty repetition_penalty thinking_budget_tokens chat_template_kwargs prediction
      prompt_cache_key prompt_cache_retention verbosity`,
    'sorts them out itself',
  ),
  names: { value: {}, reason: 'takes all of them' },
  developerRole: { value: true, reason: 'maps it where needed' },
  signsCalls: { value: 'passed on', reason: 'what stands behind it may' },
  effort: { value: 'as given', reason: 'translates it for the engine behind it' },
  counter: { value: ['input_tokens'], reason: 'our own' },
  listsAll: { value: true, reason: 'all that the key may use, with their aliases' },
  life: { value: 'door', reason: 'it answers while it works; a small chat would wait behind long ones' },
  inputs: { value: ['image', 'audio', 'file'], reason: 'refuses by itself what its model does not take' },
};
