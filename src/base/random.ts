/** Randomness as a port: keys and ids come from the operating system, the simulation seeds its own. */
export interface Random {
  /** `n` unpredictable bytes. */
  bytes(n: number): Uint8Array;
  /** A number in [0, 1), for jitter and choice; never for secrets. */
  float(): number;
}
