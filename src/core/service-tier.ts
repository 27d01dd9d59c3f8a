/** Tiers that serve single requests. `flex` runs a request through the batch engine, at the price and in the order of batches. */
export const serviceTiers = ['default', 'flex'] as const;
export type ServiceTier = (typeof serviceTiers)[number];
