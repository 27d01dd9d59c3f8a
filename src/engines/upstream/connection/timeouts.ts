/** How long the parts of a call may take, in milliseconds. */
export interface Timeouts {
  connectMs: number;
  /** From sending to the first byte of the answer. Without streaming that is the whole generation. */
  firstByteMs: number;
  /** Silence in the middle of an answer. */
  idleMs: number;
  /** The whole call, waiting for a connection included. */
  totalMs: number;
}

/** Generation without streaming is silent until it is done, and an answer with much thought may take an hour. */
export const defaultTimeouts: Timeouts = {
  connectMs: 10_000,
  firstByteMs: 3_600_000,
  idleMs: 120_000,
  totalMs: 7_200_000,
};
