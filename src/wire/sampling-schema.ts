import { Type } from './json-schema.ts';
import { booleanOrNull, integerOrNull, numberOrNull, raw, string } from './schema.ts';

/** The fields of a request that say how tokens are chosen, and how the answer comes, whatever the prompt is. */
export const samplingFields = {
  stream: Type.Optional(booleanOrNull()),
  stream_options: Type.Optional(
    raw({ type: ['object', 'null'], properties: { include_usage: booleanOrNull() } }),
  ),
  temperature: Type.Optional(numberOrNull({ minimum: 0, maximum: 2 })),
  top_p: Type.Optional(numberOrNull({ minimum: 0, maximum: 1 })),
  top_k: Type.Optional(integerOrNull({ minimum: -1, maximum: 1_000_000 })),
  min_p: Type.Optional(numberOrNull({ minimum: 0, maximum: 1 })),
  seed: Type.Optional(integerOrNull()),
  logit_bias: Type.Optional(
    raw({
      type: ['object', 'null'],
      maxProperties: 1_000,
      propertyNames: { pattern: '^[0-9]{1,10}$', expected: 'a token id' },
      additionalProperties: { type: 'number', minimum: -100, maximum: 100 },
    }),
  ),
  frequency_penalty: Type.Optional(numberOrNull({ minimum: -2, maximum: 2 })),
  presence_penalty: Type.Optional(numberOrNull({ minimum: -2, maximum: 2 })),
  repeat_penalty: Type.Optional(numberOrNull({ exclusiveMinimum: 0, maximum: 10 })),
  repetition_penalty: Type.Optional(numberOrNull({ exclusiveMinimum: 0, maximum: 10 })),
};

/** @param most stop sequences */
export const stopField = (most: number) =>
  Type.Optional(
    raw({
      type: ['string', 'array', 'null'],
      expected: 'a string or an array of strings',
      minLength: 1,
      maxItems: most,
      items: string({ minLength: 1 }),
    }),
  );
