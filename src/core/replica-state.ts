import type { WaitingCause } from './waiting.ts';

export interface ReplicaState {
  /** Server address without credentials, or the name of the model file. */
  name: string;
  /**
   * Breaker state: `open` during a back-off, `half-open` for a trial request. `draining`: gets no new requests, by the configuration
   * or by an operator.
   */
  health: 'up' | 'open' | 'half-open' | 'draining';
  slots: number;
  /** Slots that the configuration fixes; null where the server reports them or they are found under load. */
  configured: number | null;
  /** Discovered limit; null where the server reports its slots. */
  discovered: number | null;
  inFlight: number;
  /** Times that lines of this process gave way to interactive requests. */
  gaveWay: number;
  /** Factor on the time of interactive requests that the lines in flight cause; null while unknown. */
  slowdown: number | null;
  waiting: WaitingCause | null;
}

/** Replica of a model as one process sees it, for the other processes. */
export interface ReplicaReport extends ReplicaState {
  model: string;
  /** True for a server that several processes use; else each process has one of its own under this name. */
  isShared: boolean;
}
