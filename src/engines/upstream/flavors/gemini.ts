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
  failures: {
    value: [
      { status: 400, says: /^API key (not valid|expired)/, means: 401 },
      { status: 400, says: /^User location is not supported/, means: 403 },
    ],
    reason: 'a key that it refuses, and a country, are an INVALID_ARGUMENT (openai-scala-client #109)',
  },
  inputs: { value: ['image', 'audio'], reason: 'documented' },
};
