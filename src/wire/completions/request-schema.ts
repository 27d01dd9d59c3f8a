import { Type } from '../json-schema.ts';
import { samplingFields, stopField } from '../sampling-schema.ts';
import { booleanOrNull, integerOrNull, string, stringOrNull } from '../schema.ts';
import { textInputsSchema } from '../text-inputs.ts';

export const completionsLimits = {
  /** Prompts, times the answers that are made of each. */
  answers: 2_048,
  choices: 128,
  stops: 64,
  logprobs: 20,
} as const;

export const completionsRequestSchema = Type.Object(
  {
    model: string({ minLength: 1, maxLength: 256, description: 'A model id or alias.' }),
    prompt: textInputsSchema('A text, several texts, one text as token ids, or several of those.'),
    ...samplingFields,
    max_tokens: Type.Optional(
      integerOrNull({
        minimum: 0,
        maximum: 2 ** 31 - 1,
        description: '16 if absent; 0 with echo and logprobs, for the probabilities of the prompt alone.',
      }),
    ),
    n: Type.Optional(integerOrNull({ minimum: 1, maximum: completionsLimits.choices })),
    best_of: Type.Optional(
      integerOrNull({
        minimum: 1,
        maximum: completionsLimits.choices,
        description: 'So many answers are made, of which the n likeliest are told.',
      }),
    ),
    echo: Type.Optional(booleanOrNull({ description: 'Begins the answer with the prompt.' })),
    logprobs: Type.Optional(integerOrNull({ minimum: 0, maximum: completionsLimits.logprobs })),
    suffix: Type.Optional(stringOrNull({ description: 'What comes behind the text, where the model can.' })),
    stop: stopField(completionsLimits.stops),
  },
  { title: 'CompletionRequest' },
);
