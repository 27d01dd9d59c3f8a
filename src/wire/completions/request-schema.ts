import { engineFields } from '../schema/engine-fields.ts';
import {
  requestedModel,
  object,
  integerOrNull,
  known,
  stringOrNull,
  booleanOrNull,
} from '../schema/schema.ts';
import { samplingFields, stopField } from '../schema/sampling-schema.ts';
import { textInputsSchema } from '../shared/text-inputs.ts';

export const completionsLimits = {
  /** Prompts times answers per prompt. */
  answers: 2_048,
  choices: 128,
  stops: 64,
  logprobs: 20,
} as const;

export const completionsRequestSchema = object(
  {
    model: requestedModel,
    prompt: textInputsSchema('A text, several texts, one text as token ids, or several of those.'),
    ...samplingFields,
    'max_tokens?': integerOrNull({
      minimum: 0,
      maximum: 2 ** 31 - 1,
      description: 'Default 16; 0 with echo and logprobs returns only the probabilities of the prompt.',
    }),
    'n?': integerOrNull({ minimum: 1, maximum: completionsLimits.choices }),
    'best_of?': integerOrNull({
      minimum: 1,
      maximum: completionsLimits.choices,
      description: 'Number of answers to generate, of which the n likeliest are returned.',
    }),
    'echo?': booleanOrNull({ description: 'Begins the answer with the prompt.' }),
    'logprobs?': integerOrNull({ minimum: 0, maximum: completionsLimits.logprobs }),
    'suffix?': stringOrNull({ description: 'Text that follows the completion, if the model supports it.' }),
    'stop?': stopField(completionsLimits.stops),
  },
  { title: 'CompletionRequest', ...known('user prompt_embeds response_format', ...engineFields) },
);
