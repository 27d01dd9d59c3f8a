import { shared, fields, maxTokens, service } from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const mistral: FlavorTraits = {
  ...service,
  prefixCache: shared('nothing is documented; leader first serves most'),
  fields: fields(
    'prediction',
    'documented; any that is not known is refused (mistralai/platform-docs-public #7)',
  ),
  without: {
    value: [
      'stream_options',
      'logprobs',
      'top_logprobs',
      'logit_bias',
      'reasoning_effort',
      'messages.name',
      'messages.refusal',
      'messages.reasoning',
      'messages.reasoning_content',
    ],
    reason:
      'not in its schema, which forbids others (crush #1590, mistral-go #2); usage comes without being asked for',
  },
  names: { value: { ...maxTokens, seed: 'random_seed' }, reason: 'documented' },
  effort: { value: 'as given', reason: 'it is not sent' },
  asStream: { value: 'queued', reason: 'thoughts come as they are thought' },
  inputs: { value: ['image'], reason: 'documented' },
};
