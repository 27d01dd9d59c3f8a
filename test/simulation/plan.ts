import type { BatchEndpoint } from '../../src/core/batch.ts';
import type { BatchWindows } from '../../src/core/batch-window.ts';
import type { PauseScope } from '../../src/core/controls.ts';

/** Behaviour of one simulated line; `fateOf` gives its expected result. */
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
  /** Index of a system prompt shared with other lines, or null. */
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
  /** Estimated tokens of each answer; default 512. */
  maxTokens?: number;
  /** Window that the request names, one of the offered ones; the default one if absent. */
  windowMs?: number;
}

/** Probabilities of each fault for one store call, until the calm begins. */
export interface Weather {
  latency: number;
  slow: number;
  /** The call takes longer than a lease lives. */
  hang: number;
  /** The same for rare operations: closing, releasing, splitting. */
  seldomHang: number;
  error: number;
  twice: number;
  crash: number;
  pause: number;
  /** A blob operation fails. */
  blobs: number;
}

/** Time after the start of the calm in which files may still be damaged. */
export const damageMs = 10_000;

export type Incident =
  /** With `atWork`, hits a process that holds lines, if there is one. */
  | { kind: 'crash' | 'stop'; downMs: number; atWork?: boolean }
  | { kind: 'pause' | 'silence'; ms: number }
  | { kind: 'jump'; ms: number }
  | { kind: 'store'; ms: number; everyone: boolean }
  | { kind: 'damage'; damage: Damage }
  | { kind: 'refuse'; ms: number; model: string; retryAfter: number | null; how: Outage };

/** Damage to a stored file: truncated, one byte flipped, or removed. */
export interface Damage {
  what: 'input' | 'result';
  how: 'cut' | 'flip' | 'gone';
}

/** Way in which an engine refuses everything: overload, no connection, an error of its proxy, or a missing model. */
export type Outage = 'overloaded' | 'unreachable' | '502' | '404';

/** Everything that a seed decides in advance. Further random numbers are drawn from the same seed during the run. */
export interface WorldPlan {
  size: Size;
  processes: number;
  models: string[];
  slots: number;
  windowMs: number;
  /** Offered windows besides the default one, `windowMs`, which is longer. */
  shortWindows?: readonly number[];
  batches: BatchPlan[];
  weather: Weather;
  /** Longest pause of a process or of its connection. */
  longestMs: number;
  /** Time after which only the lines themselves fail. */
  calmFrom: number;
  incidents: { at: number; incident: Incident }[];
  /** Pauses by an operator; only then do processes read them. */
  pauses?: { at: number; ms: number; scope: PauseScope }[];
  /** Chats that come and go at each process until the calm, and to which lines give way. */
  chats?: true;
  /** Probability that an engine answers a call with a 5xx. */
  flaky: number;
  /** A router with a circuit breaker stands in front of the engines (`gateway.ts`). */
  gateway?: true;
  /** Only its own kind can keep a line from its answer. */
  undisturbed?: true;
}

/** Subject of a world: a mix of everything, or one rare situation. */
export type Shape =
  | 'mixed'
  | 'closing'
  | 'suspects'
  | 'silent'
  | 'shares'
  | 'refused'
  | 'crowd'
  | 'damaged'
  | 'stalled'
  | 'paused'
  | 'chats'
  | 'windows'
  | 'late';

/**
 * Most faults need two processes, one batch and a few lines in the wrong order. Small worlds find these at little cost, so
 * many are tried. Large worlds find faults that need more lines, more time or several overlapping batches.
 */
export type Size = 'small' | 'large';

/** Windows that the processes of a world offer, each at another price. */
export function offeredWindows({ windowMs, shortWindows = [] }: WorldPlan): BatchWindows {
  const usual = { ms: windowMs, priceFactor: 0.5 };
  const short = shortWindows.toSorted((a, b) => a - b).map((ms, at) => ({ ms, priceFactor: 0.9 - at / 10 }));
  const [first, ...others] = [...short, usual];
  return [first, ...others];
}

export const hour = 3_600_000;
export const day = 24 * hour;
