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
  inputs: { value: ['image'], reason: 'documented' },
};
