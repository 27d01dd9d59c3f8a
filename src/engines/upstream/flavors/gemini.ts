import { shared, service } from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const gemini: FlavorTraits = {
  ...service,
  prefixCache: shared('documented as implicit caching'),
  fields: { value: [], reason: 'any that is not known is refused (page-assist #418)' },
  without: {
    value: ['seed', 'frequency_penalty'],
    reason: 'refused as unknown names (page-assist #418, ChatterUI #227)',
  },
  signsCalls: {
    value: 'needed',
    reason: 'documented: a call without the signature that came in its extra_content is a 400',
  },
  effort: {
    value: { xhigh: 'high', max: 'high' },
    reason: 'minimal, low, medium and high are documented, none by models that can go without',
  },
  inputs: { value: ['image', 'audio'], reason: 'documented' },
};
