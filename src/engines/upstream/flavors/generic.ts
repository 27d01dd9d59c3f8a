import { native, shared, no, fields, completions, all, maxTokens, usual } from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const generic: FlavorTraits = {
  ...usual,
  completions: completions(all, 'nothing is known of the server'),
  jsonSchema: native('asked for and checked: nothing is known of the server'),
  forcedTool: native('asked for and checked: nothing is known of the server'),
  prefixCache: shared('nothing is known of the server; leader first serves most'),
  fields: fields(
    'top_k min_p repeat_penalty repetition_penalty chat_template_kwargs',
    'what most servers of open models take',
  ),
  names: { value: maxTokens, reason: 'the older name is the one that everybody reads' },
  developerRole: no('system is understood everywhere'),
  effort: { value: 'as given', reason: 'the one name that is documented anywhere' },
  counter: { value: [], reason: 'nothing is known of the server' },
  inputs: { value: ['image', 'audio', 'file'], reason: 'nothing is known of the server' },
};
