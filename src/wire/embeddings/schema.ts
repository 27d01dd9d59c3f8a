import { Type } from '../json-schema.ts';
import { integerOrNull, oneOfOrNull, raw, string } from '../schema.ts';

/** `POST /v1/embeddings` (wire-formats.md, section 1d). */
export const embeddingsLimits = { inputs: 2_048, dimensions: 65_536 } as const;

const tokens = { type: 'integer', minimum: 0 };

export const embeddingsRequestSchema = Type.Object(
  {
    model: string({ minLength: 1, maxLength: 256, description: 'A model id or alias.' }),
    input: raw({
      type: ['string', 'array'],
      description: `A text, up to ${embeddingsLimits.inputs} texts, one text as token ids, or several of those.`,
      expected: 'a string, an array of strings, an array of token ids or an array of such arrays',
      minLength: 1,
      minItems: 1,
      items: {
        type: ['string', 'integer', 'array'],
        expected: 'a string, a token id or an array of token ids',
        minLength: 1,
        minimum: 0,
        minItems: 1,
        items: tokens,
      },
    }),
    encoding_format: Type.Optional(oneOfOrNull(['float', 'base64'])),
    dimensions: Type.Optional(integerOrNull({ minimum: 1, maximum: embeddingsLimits.dimensions })),
  },
  { title: 'EmbeddingsRequest' },
);
