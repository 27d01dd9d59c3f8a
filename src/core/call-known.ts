import type { Usage } from './usage.ts';

/** What is known of a call. A call that is made again, for a promise that was not kept or at a fallback, is told by its last. */
export interface CallKnown {
  /** The server that was asked last, by the name of its replica. */
  server?: string;
  /** How many servers were asked. */
  asked?: number;
  /** Milliseconds that it waited for a place. */
  queuedMs?: number;
  /** Milliseconds from then until something of a streamed answer, or all of one that comes whole, was there. */
  firstMs?: number;
  /** The id that the server gave its answer. */
  answerId?: string;
  /** The model that is asked. */
  model?: string;
  /** What is paid for. */
  billed?: Usage;
}
