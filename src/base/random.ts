/** Randomness as a port: from the operating system, or seeded by the simulation. */
export interface Random {
  /** `n` unpredictable bytes. */
  bytes(n: number): Uint8Array;
  /** Number in [0, 1) for jitter and choices; not for secrets. */
  float(): number;
}
