/** Time limits of a call, in milliseconds. */
export interface Timeouts {
  connectMs: number;
  /** From sending to the first byte of the answer: the whole generation if it is not streamed. */
  firstByteMs: number;
  /** Silence in the middle of an answer. */
  idleMs: number;
  /** The whole call, including the wait for a connection. */
  totalMs: number;
}

/** An answer that is not streamed is silent until it is complete, which may take an hour with much reasoning. */
export const defaultTimeouts: Timeouts = {
  connectMs: 10_000,
  firstByteMs: 3_600_000,
  idleMs: 120_000,
  totalMs: 7_200_000,
};
