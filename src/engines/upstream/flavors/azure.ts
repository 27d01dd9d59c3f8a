import { openai } from './openai.ts';
import { viaChat } from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const azure: FlavorTraits = {
  ...openai,
  speaks: { responses: viaChat('it has them at one of its addresses, not below that of a deployment') },
  auth: {
    value: { header: 'api-key', scheme: '' },
    reason: 'documented; the bearer is for tokens of Entra ID',
  },
  fields: { value: [], reason: 'what it takes depends on the version of the API, and it refuses the rest' },
};
