import type { CompletionAbility, FlavorTraits } from './traits.ts';

/** The older name is the one that everybody reads. */
export const maxTokens = { max_completion_tokens: 'max_tokens' };

/** What most servers do. */
export const usual: FlavorTraits = {
  auth: { header: 'authorization', scheme: 'Bearer ' },
  jsonSchema: 'native',
  schemas: 'no look-around', // RE2, Rust and most grammars know none
  forcedTool: 'native',
  prefixCache: 'shared', // leader first serves most
  fields: [],
  without: [], // what a server does not know, it passes over
  names: maxTokens,
  effort: 'as given', // the one name that is documented anywhere
  tokenCounters: [],
  report: 'models', // everybody lists models; some tell the length of the context there
  inputs: ['image', 'audio', 'file'],
};

export const allAbilities: readonly CompletionAbility[] = [
  'raw',
  'lists',
  'tokens',
  'n',
  'best_of',
  'echo',
  'suffix',
];

export const words = (names: string): string[] => names.split(/\s+/);
