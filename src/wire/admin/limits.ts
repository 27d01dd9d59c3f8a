import { type LimitChanges, limitFields, type LimitName, limitNames } from '../../core/limits.ts';
import { integerOrNull, orNull } from '../schema/schema.ts';

const amount = integerOrNull({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** `limits` of an org or a key in a request body: null lifts a limit, and absent ones stay. */
export const limitsSchema = orNull({
  type: 'object',
  description: 'Limits to set. Null lifts one, or all of them.',
  // Unlike `additionalProperties`, a fault of `propertyNames` lists the known names.
  propertyNames: { enum: limitNames },
  properties: Object.fromEntries(
    limitNames.map((name) => [
      name,
      name === 'queued_tokens'
        ? {
            type: ['object', 'null'],
            maxProperties: 1_000,
            additionalProperties: amount,
            description: 'By model: an id or an alias.',
          }
        : amount,
    ]),
  ),
});

export type LimitsBody =
  | ({ [Name in Exclude<LimitName, 'queued_tokens'>]?: number | null } & {
      queued_tokens?: Record<string, number | null> | null;
    })
  | null;

export function readLimits(body: LimitsBody): LimitChanges {
  if (body === null) return null;
  const named = limitNames.filter((name) => body[name] !== undefined);
  return Object.fromEntries(named.map((name) => [limitFields[name], body[name]]));
}
