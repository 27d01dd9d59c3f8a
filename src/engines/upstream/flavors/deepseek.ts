import { shared, service } from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const deepseek: FlavorTraits = {
  ...service,
  jsonSchema: { value: 'none', reason: 'json_object alone is documented' },
  prefixCache: shared('documented: told in prompt_cache_hit_tokens'),
  fields: { value: [], reason: 'no others are documented for sampling' },
  effort: { value: 'as given', reason: 'documented; which words a model takes is its own' },
  asStream: {
    value: 'at once',
    reason: 'comments come while a request waits, and thoughts as they are thought',
  },
  inputs: { value: [], reason: 'text alone is documented' },
};
