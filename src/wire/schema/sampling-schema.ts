import { booleanOrNull, integerOrNull, known, numberOrNull, object, orNull, string } from './schema.ts';

/** Sampling and streaming fields that chat and text completions share. */
export const samplingFields = {
  'stream?': booleanOrNull(),
  'stream_options?': orNull(
    object({ 'include_usage?': booleanOrNull() }, known('include_obfuscation continuous_usage_stats')),
  ),
  'temperature?': numberOrNull({ minimum: 0, maximum: 2 }),
  'top_p?': numberOrNull({ minimum: 0, maximum: 1 }),
  'top_k?': integerOrNull({ minimum: -1, maximum: 1_000_000 }),
  'min_p?': numberOrNull({ minimum: 0, maximum: 1 }),
  'seed?': integerOrNull(),
  'logit_bias?': {
    type: ['object', 'null'],
    maxProperties: 1_000,
    propertyNames: { pattern: '^[0-9]{1,10}$', expected: 'a token id' },
    additionalProperties: { type: 'number', minimum: -100, maximum: 100 },
  },
  'frequency_penalty?': numberOrNull({ minimum: -2, maximum: 2 }),
  'presence_penalty?': numberOrNull({ minimum: -2, maximum: 2 }),
  'repeat_penalty?': numberOrNull({ exclusiveMinimum: 0, maximum: 10 }),
  'repetition_penalty?': numberOrNull({ exclusiveMinimum: 0, maximum: 10 }),
};

export const stopField = (max: number) => ({
  type: ['string', 'array', 'null'],
  expected: 'a string or an array of strings',
  minLength: 1,
  maxItems: max,
  items: string({ minLength: 1 }),
});
