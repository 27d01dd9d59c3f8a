/**
 * Part of the work that a process does: `api` serves requests and claims no chunks of batches, `worker` runs batches and serves no
 * requests, `all` does both.
 */
export const roles = ['all', 'api', 'worker'] as const;
export type Role = (typeof roles)[number];

/** True if a process of this role claims chunks of batches. */
export const runsBatches = (role: Role): boolean => role !== 'api';

/** True if a process of this role serves the requests of clients. */
export const servesRequests = (role: Role): boolean => role !== 'worker';
