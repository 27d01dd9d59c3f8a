import { shared, service } from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const xai: FlavorTraits = {
  ...service,
  prefixCache: shared('documented'),
  fields: { value: [], reason: 'no others are documented for sampling' },
  names: { value: {}, reason: 'both names of the limit are documented' },
  effort: {
    value: { minimal: 'low', xhigh: 'high', max: 'high' },
    reason: 'low, medium and high are documented, none by models that can go without',
  },
  failures: {
    value: [
      { status: 400, says: /^Incorrect API key provided/, means: 401 },
      { status: 429, says: /^Your team \S+ has either used all available credits/, means: 402 },
    ],
    reason: 'seen with a wrong key (codex #1352) and without credit (continue #10373)',
  },
  inputs: { value: ['image'], reason: 'documented' },
};
