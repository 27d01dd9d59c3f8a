import { embeddingEngineFields } from '../schema/engine-fields.ts';
import { requestedModel, integerOrNull, known, object, oneOfOrNull } from '../schema/schema.ts';
import { serviceTierField } from '../shared/service-tier.ts';
import { checkTextInputs, textInputsSchema } from '../shared/text-inputs.ts';
import { validator } from '../schema/validate.ts';
import type { EmbeddingsRequest } from './embeddings.ts';

export const embeddingsLimits = { inputs: 2_048, dimensions: 65_536 } as const;

export const embeddingsRequestSchema = object(
  {
    model: requestedModel,
    input: textInputsSchema(
      `A text, up to ${embeddingsLimits.inputs} texts, one text as token ids, or several of those.`,
    ),
    'encoding_format?': oneOfOrNull(['float', 'base64']),
    'dimensions?': integerOrNull({ minimum: 1, maximum: embeddingsLimits.dimensions }),
    ...serviceTierField,
  },
  { title: 'EmbeddingsRequest', ...known('user', ...embeddingEngineFields) },
);

/** Checks a parsed body of a request or of a batch line. */
export const checkEmbeddingsRequest = validator(
  embeddingsRequestSchema,
  ({ input }: EmbeddingsRequest, add) => checkTextInputs('input', input, embeddingsLimits.inputs, add),
);
