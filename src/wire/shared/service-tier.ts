import { invalid } from '../../core/errors.ts';
import type { ServiceTier } from '../../core/service-tier.ts';
import { describe } from '../schema/explain.ts';
import { oneOf, stringOrNull } from '../schema/schema.ts';

/** Tiers by the names that OpenAI's and Anthropic's clients send. Null leaves the choice to the key. */
const tiers: Readonly<Record<string, ServiceTier | null>> = {
  auto: null,
  default: 'default',
  flex: 'flex',
  priority: 'default',
  standard_only: 'default',
};

const names = Object.keys(tiers).map((name) => `"${name}"`);
const expected = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;

/** Member of a request. Batch lines accept any value, which has no effect there. */
export const serviceTierField = {
  'service_tier?': stringOrNull({
    description: `${expected}. Only "flex" differs: it runs the request like a line of a batch, at the batch price. The key decides if it is absent or "auto".`,
  }),
};

/** Member of an answer. */
export const servedTier = oneOf(['default', 'flex'], { description: 'Tier that served the request.' });

/**
 * Tier of a checked single request.
 * @param ofKey default tier of the caller's key
 * @throws ApiError `validation_error` for an unknown tier
 */
export function requestedTier(
  { service_tier: name }: { service_tier?: unknown },
  ofKey: ServiceTier = 'default',
): ServiceTier {
  if (name === undefined || name === null) return ofKey;
  if (typeof name !== 'string' || !Object.hasOwn(tiers, name))
    throw invalid('service_tier', `expected ${expected}, got ${describe(name)}`);
  return tiers[name] ?? ofKey;
}
