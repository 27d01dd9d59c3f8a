import type { Prices } from './price.ts';
import type { Usage } from './usage.ts';

/** Metadata of a finished single request. */
export interface RecentRequest {
  id: string;
  /** Epoch milliseconds. */
  startedAt: number;
  orgId: string;
  keyId: string;
  /** Empty for a key without a name. */
  keyName: string;
  endpoint: string;
  /** HTTP status; 499 if the client left before the end of the answer. */
  status: number;
  code: string | null;
  /** Milliseconds in total, of waiting for a slot, and from the slot to the first output. */
  ms: number;
  queuedMs: number | null;
  firstMs: number | null;
  model: string | null;
  server: string | null;
  usage: Usage | null;
  /** Prices at which the usage is charged. */
  prices: Prices | null;
}
