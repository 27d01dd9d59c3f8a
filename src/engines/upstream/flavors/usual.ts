import type { CompletionAbility, FlavorTraits } from './traits.ts';

/** The older name, which every server knows. */
export const maxTokens = { max_completion_tokens: 'max_tokens' };

export const usual: FlavorTraits = {
  auth: { header: 'authorization', scheme: 'Bearer ' },
  jsonSchema: 'native',
  schemas: 'no look-around', // unsupported by RE2, Rust and most grammars
  forcedTool: 'native',
  prefixCache: 'shared', // warming it up with one request first suits most
  fields: [],
  without: [], // unknown members are ignored
  names: maxTokens,
  effort: 'as given', // the only documented name
  tokenCounters: [],
  report: 'models', // every server lists models, some with the context length
  inputs: ['image', 'audio', 'file'],
};

export const words = (names: string): string[] => names.split(/\s+/);

export const allAbilities = words('raw lists tokens n best_of echo suffix') as readonly CompletionAbility[];
