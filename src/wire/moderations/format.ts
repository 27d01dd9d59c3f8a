import { sum } from '../../base/sum.ts';
import { estimateText, mediaTokens } from '../chat/request/estimate-prompt.ts';
import type { DirectFormat } from '../shared/direct-format.ts';
import { describe } from '../schema/explain.ts';
import * as t from '../schema/schema.ts';
import { type AddFault, validator } from '../schema/validate.ts';
import { serviceTierField } from '../shared/service-tier.ts';
import { moderationParts, type Moderations, type ModerationsRequest } from './moderations.ts';

const maxInputs = 2_048;

const part = {
  type: ['string', 'object'],
  expected: 'a string or a part with a type',
  minLength: 1,
  ...t.fields({ type: t.oneOf(['text', 'image_url']) }),
  allOf: [
    t.when('type', 'text', { text: t.string() }),
    t.when('type', 'image_url', { image_url: t.object({ url: t.imageUrl }) }),
  ],
};

const requestSchema = t.object(
  {
    model: t.requestedModel,
    input: {
      type: ['string', 'array'],
      description: `A text, up to ${maxInputs} texts, or one input of text and image parts.`,
      expected: 'a string, an array of strings or an array of parts',
      minLength: 1,
      minItems: 1,
      maxItems: maxInputs,
      items: part,
    },
    ...serviceTierField,
  },
  { title: 'ModerationRequest', ...t.known('user guardrails') },
);

function checkInput({ input }: ModerationsRequest, add: AddFault): void {
  if (typeof input === 'string') return;
  const odd = input.findIndex((item) => typeof item !== typeof input[0]);
  const like = typeof input[0] === 'string' ? 'a string' : 'a part';
  if (odd >= 0)
    add(`input[${odd}]`, `expected ${like} like the items before it, got ${describe(input[odd])}`);
}

const responseSchema = t.object(
  {
    id: t.string({ pattern: '^modr_' }),
    model: t.servedModel,
    results: t.array(
      t.object({
        flagged: t.boolean(),
        categories: { type: 'object', additionalProperties: { type: 'boolean' } },
        'category_scores?': { type: 'object', additionalProperties: { type: 'number' } },
        'category_applied_input_types?': {
          type: 'object',
          additionalProperties: { type: 'array', items: { type: 'string' } },
        },
      }),
      { description: 'One for each input. The categories are those of the model.' },
    ),
  },
  { title: 'Moderation' },
);

export const moderationsFormat: DirectFormat<ModerationsRequest, Moderations> = {
  endpoint: '/v1/moderations',
  name: 'Moderations',
  summary: 'Classify texts and images by policy categories',
  requestSchema,
  responseSchema,
  check: validator(requestSchema, checkInput),
  // OpenAI's default, which its clients rely on.
  defaultModel: 'omni-moderation-latest',
  smallest: { input: 'a' },
  inputTokens: (request) =>
    sum(
      moderationParts(request).map((each) => (each.type === 'text' ? estimateText(each.text) : mediaTokens)),
    ),
  *imageUrlPaths({ input }) {
    if (typeof input === 'string') return;
    for (const [at, item] of input.entries())
      if (typeof item === 'object' && item.type === 'image_url' && !item.image_url.url.startsWith('data:'))
        yield `input[${at}]`;
  },
  idPrefix: 'modr_',
  presenter:
    () =>
    ({ results }, { id, model }) => ({ id, model, results }),
};
