import { askedModel, object, integerOrNull, oneOfOrNull } from '../schema.ts';
import { textInputsSchema } from '../text-inputs.ts';

/** `POST /v1/embeddings` (wire-formats.md, section 1d). */
export const embeddingsLimits = { inputs: 2_048, dimensions: 65_536 } as const;

export const embeddingsRequestSchema = object(
  {
    model: askedModel,
    input: textInputsSchema(
      `A text, up to ${embeddingsLimits.inputs} texts, one text as token ids, or several of those.`,
    ),
    'encoding_format?': oneOfOrNull(['float', 'base64']),
    'dimensions?': integerOrNull({ minimum: 1, maximum: embeddingsLimits.dimensions }),
  },
  { title: 'EmbeddingsRequest' },
);
