import { Type } from '../json-schema.ts';
import { integerOrNull, oneOfOrNull, string } from '../schema.ts';
import { textInputsSchema } from '../text-inputs.ts';

/** `POST /v1/embeddings` (wire-formats.md, section 1d). */
export const embeddingsLimits = { inputs: 2_048, dimensions: 65_536 } as const;

export const embeddingsRequestSchema = Type.Object(
  {
    model: string({ minLength: 1, maxLength: 256, description: 'A model id or alias.' }),
    input: textInputsSchema(
      `A text, up to ${embeddingsLimits.inputs} texts, one text as token ids, or several of those.`,
    ),
    encoding_format: Type.Optional(oneOfOrNull(['float', 'base64'])),
    dimensions: Type.Optional(integerOrNull({ minimum: 1, maximum: embeddingsLimits.dimensions })),
  },
  { title: 'EmbeddingsRequest' },
);
