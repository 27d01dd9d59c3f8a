import { native, shared, no, fields, completions, maxTokens, usual, answersChat } from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const openrouter: FlavorTraits = {
  ...usual,
  life: answersChat,
  completions: completions(['raw'], 'one text is documented'),
  jsonSchema: native('documented, by models that have it'),
  forcedTool: native('documented, by models that have it'),
  prefixCache: shared('that of whoever runs the model'),
  fields: fields('top_k min_p top_a repetition_penalty verbosity', 'documented as sampling'),
  names: { value: { ...maxTokens, repeat_penalty: 'repetition_penalty' }, reason: 'documented' },
  developerRole: no('whether it is known depends on the model'),
  effort: { value: 'as given', reason: 'it translates for whoever runs the model' },
  asStream: { value: 'at once', reason: 'comments come while whoever runs the model is silent' },
  inputs: { value: ['image', 'audio', 'file'], reason: 'documented, by models that have it' },
};
