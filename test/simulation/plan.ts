import type { BatchEndpoint } from '../../src/core/batch.ts';

/** How one simulated line behaves. What it must come to when nobody ends its batch early is told by `fateOf`. */
export type LineKind =
  | 'plain'
  | 'slow'
  | 'late'
  | 'bad'
  | 'broken'
  | 'shaky'
  | 'refused'
  | 'unreachable'
  | 'unschemed'
  | 'forbidden'
  | 'closed'
  | 'filtered';

export interface LinePlan {
  kind: LineKind;
  model: string;
  /** A system prompt it shares with others, or null. */
  system: number | null;
  delayMs: number;
}

export interface BatchPlan {
  name: string;
  orgId: string;
  endpoint: BatchEndpoint;
  lines: LinePlan[];
  createAt: number;
  cancelAt: number | null;
}

/** How often a store call meets each fault while the weather is bad. */
export interface Weather {
  latency: number;
  slow: number;
  /** That it takes longer than a lease lives. */
  hang: number;
  /** The same of what comes seldom: closing, giving back, splitting. */
  seldomHang: number;
  error: number;
  twice: number;
  crash: number;
  pause: number;
  /** Of an operation on blobs: that it fails. */
  blobs: number;
}

/** So long after the calm has begun something may still be damaged. */
export const damageMs = 10_000;

export type Incident =
  /** `atWork`: of one that has something in hand, if there is one. */
  | { kind: 'crash' | 'stop'; downMs: number; atWork?: boolean }
  | { kind: 'pause' | 'silence'; ms: number }
  | { kind: 'jump'; ms: number }
  | { kind: 'store'; ms: number; everyone: boolean }
  | { kind: 'damage'; damage: Damage }
  | { kind: 'refuse'; ms: number; model: string; retryAfter: number | null; how: Outage };

/** What is damaged of what is stored: it ends early, a byte of it differs, or it is not there. */
export interface Damage {
  what: 'input' | 'result';
  how: 'cut' | 'flip' | 'gone';
}

/** How an engine takes nothing: it says so, nobody listens, its proxy says so, or its model is not there yet. */
export type Outage = 'overloaded' | 'unreachable' | '502' | '404';

/** Everything a seed decides beforehand. What is left to chance is drawn on the way, from the same seed. */
export interface WorldPlan {
  size: Size;
  processes: number;
  models: string[];
  slots: number;
  windowMs: number;
  batches: BatchPlan[];
  weather: Weather;
  /** The longest that a process stands still or hears nothing. */
  longestMs: number;
  /** From here on nothing fails any more but the lines themselves. */
  calmFrom: number;
  incidents: { at: number; incident: Incident }[];
  /** Probability that an engine answers a call with a 5xx. */
  flaky: number;
  /** A router stands before the engines, which stops asking them after failures in a row (`gateway.ts`). */
  gateway?: true;
  /** Nothing keeps any line from its answer but what it is itself. */
  undisturbed?: true;
}

/** What a world is about: a bit of everything, or one thing that seldom happens by itself. */
export type Shape =
  | 'mixed'
  | 'closing'
  | 'suspects'
  | 'silent'
  | 'shares'
  | 'refused'
  | 'crowd'
  | 'damaged'
  | 'stalled';

/**
 * Most faults need two processes, one batch and a few lines in the wrong order. Small worlds are enough for them and cheap, so
 * many are tried; what needs more lines, more time or several batches that are long in each other's way is found in large ones.
 */
export type Size = 'small' | 'large';

export const hour = 3_600_000;
export const day = 24 * hour;
