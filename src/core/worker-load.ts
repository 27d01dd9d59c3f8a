import { sum } from '../base/sum.ts';
import type { Model } from './model.ts';
import type { ReplicaReport } from './replica-state.ts';
import type { Role } from './role.ts';
import type { WaitingCause } from './waiting.ts';

/** Report of a process to the other processes on the database. */
export interface WorkerLoad {
  /** Absent from versions before 0.2. */
  process?: ProcessInfo;
  /** Lines of batches in flight; absent if unknown. */
  lines?: number;
  /** Interactive calls in flight, by model id. */
  interactive: Record<string, number>;
  /** Ids and aliases of the models whose batch lines it runs; absent if unknown, which counts as any. */
  serves?: readonly string[];
  /** Served models, with what other processes need to accept batches for them. */
  models?: readonly Model[];
  /** Replicas of the served models. */
  replicas?: readonly ReplicaReport[];
  /** Reasons why models currently wait, by name. */
  waits?: Record<string, WaitingCause>;
  /** Measured rates of batch lines, by model id; absent if unknown. */
  rates?: Record<string, LineRate>;
}

/** Process of the installation, for operators. */
export interface ProcessInfo {
  version: string;
  /** Name of its machine. */
  host: string;
  pid: number;
  /** Absent from versions before 0.2. */
  role?: Role;
  /** Epoch milliseconds of the database. */
  startedAt: number;
}

/** Rate at which a process completes batch lines of a model. */
export interface LineRate {
  /** Estimated input and output tokens per second, over the time in which lines were in flight. */
  tokensPerSecond: number;
  /** Milliseconds since lines were last in flight; 0 while they are. */
  idleMs: number;
}

/** Milliseconds without lines in flight after which a process counts as idle. */
const idleAfterMs = 60_000;

/** Sum of the rates of the busy processes, or of all processes if none is busy. Null without rates. */
export function totalRate(rates: readonly LineRate[]): number | null {
  const busy = rates.filter(({ idleMs }) => idleMs < idleAfterMs);
  const counted = busy.length > 0 ? busy : rates;
  return counted.length === 0 ? null : sum(counted.map(({ tokensPerSecond }) => tokensPerSecond));
}
