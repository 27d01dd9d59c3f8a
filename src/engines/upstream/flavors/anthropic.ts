import { native, shared, no, fields, usual, answersChat } from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const anthropic: FlavorTraits = {
  ...usual,
  life: answersChat,
  auth: {
    value: { header: 'x-api-key', scheme: '', beside: { 'anthropic-version': '2023-06-01' } },
    reason: 'documented; by this version the fields for sampling are still read',
  },
  format: { value: 'messages', reason: 'its chat completions ignore formats and strict tools' },
  speaks: { messages: native('signed thinking, marks for its cache and citations are lost otherwise') },
  jsonSchema: native('documented as output_config.format; models that do not have it refuse it'),
  forcedTool: native('documented'),
  prefixCache: shared('leader first serves most'),
  fields: fields('top_k thinking_budget_tokens', 'documented for some models'),
  names: { value: {}, reason: 'all members are translated' },
  developerRole: no('what the system says stands before the conversation'),
  effort: {
    value: 'as given',
    reason: 'translated by the generation of the model (`messages/thinking.ts`)',
  },
  counter: { value: ['count_tokens'], reason: 'documented' },
  noEmbeddings: { value: true, reason: 'none are documented' },
  inputs: { value: ['image', 'file'], reason: 'documented' },
};
