import type { WaitingCause } from './waiting.ts';

/** State of one replica. */
export interface ReplicaState {
  /** Server address without credentials, or the name of the model file. */
  name: string;
  /** Breaker state: `open` during a back-off, `half-open` for a trial request. `draining`: configured to get no new requests. */
  health: 'up' | 'open' | 'half-open' | 'draining';
  slots: number;
  inFlight: number;
  waiting: WaitingCause | null;
}
