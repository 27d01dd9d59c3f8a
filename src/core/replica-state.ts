import type { WaitingCause } from './waiting.ts';

/** How one of the servers of a model is. */
export interface ReplicaState {
  /** The server's address without credentials, or the model file's name. */
  name: string;
  /**
   * `open`: it is left alone after failures. `half-open`: one request tries whether it works again. `draining`: it gets
   * nothing new, as its operator wants it.
   */
  health: 'up' | 'open' | 'half-open' | 'draining';
  slots: number;
  inFlight: number;
  waiting: WaitingCause | null;
}
