/** Installation and run of a simulation. */
export interface ScaleOptions {
  seed: number;
  processes: number;
  /** Replicas of each model, the largest first. Each has `slots`. */
  replicas: readonly number[];
  slots: number;
  /** Milliseconds in a slot of an output token. A line has 400 on average. */
  tokenMs: number;
  orgs: number;
  /** Open batches at the start. */
  open: number;
  /** One org in `every` has so many lines in small batches whose windows end so long after the start. */
  late: { every: number; lines: number; minMs: number; maxMs: number };
  /** Small batches that are created a second, by orgs without other work. */
  createdPerSecond: number;
  /** Simulated milliseconds: until measured, until the first fault, until the second, and until the end. */
  phases: { warm: number; steady: number; replicas: number; processes: number };
  /** Replicas and processes that die at once, at the beginning of their phases. */
  deadReplicas: number;
  deadProcesses: number;
  /** Milliseconds after which a dead replica is back. */
  replicaDownMs: number;
  postgres: PostgresCosts;
}

/** Milliseconds of one core of Postgres, and its cores. */
export interface PostgresCosts {
  cores: number;
  /** Time between a process and its database, there and back. */
  roundTripMs: number;
  /** A look for work, and a release of chunks, without a lock that others wait for. */
  lookMs: number;
  /** A claim under the lock of its models. */
  claimMs: number;
  /** A renewal of the slot leases of a process: for each, for each model, and for each model and process. */
  lease: { ms: number; modelMs: number; processMs: number };
  /** A recorded group: for each, and for each line. */
  record: { ms: number; lineMs: number };
}

/** Tokens of a line: the average of its answer, and the estimate that the server makes of it. */
export const lineShape = { outputTokens: 400, estimatedOutput: 512 } as const;

/** Measured costs; `docs/scale.md` describes how the leases are measured. */
export const measuredCosts: PostgresCosts = {
  cores: 8,
  roundTripMs: 1,
  lookMs: 0.5,
  claimMs: 5,
  lease: { ms: 0.5, modelMs: 0.03, processMs: 0.0017 },
  record: { ms: 0.6, lineMs: 0.06 },
};

export const large: ScaleOptions = {
  seed: 1,
  processes: 100,
  replicas: [400, 250, 150, 100, 60, 40],
  slots: 16,
  tokenMs: 25,
  orgs: 10_000,
  open: 1_000_000,
  late: { every: 50, lines: 100, minMs: 90_000, maxMs: 200_000 },
  createdPerSecond: 20,
  phases: { warm: 45_000, steady: 90_000, replicas: 45_000, processes: 60_000 },
  deadReplicas: 100,
  deadProcesses: 10,
  replicaDownMs: 30_000,
  postgres: measuredCosts,
};

/** Small enough for a test. All windows end after it. */
export const small: ScaleOptions = {
  ...large,
  processes: 10,
  replicas: [60, 30, 10],
  slots: 8,
  tokenMs: 5,
  orgs: 100,
  open: 10_000,
  createdPerSecond: 2,
  phases: { warm: 8_000, steady: 30_000, replicas: 6_000, processes: 36_000 },
  deadReplicas: 10,
  deadProcesses: 1,
  replicaDownMs: 4_000,
};

/** More orgs than a claim looks at, some of which have batches whose windows end within the test. */
export const crowded: ScaleOptions = {
  ...small,
  orgs: 600,
  open: 30_000,
  late: { every: 50, lines: 100, minMs: 40_000, maxMs: 75_000 },
  phases: { warm: 4_000, steady: 74_000, replicas: 1_000, processes: 1_000 },
};

/** Half of the orgs have late work, and more of it than is run. */
export const overdue: ScaleOptions = {
  ...small,
  orgs: 300,
  late: { every: 2, lines: 2_000, minMs: 3_600_000, maxMs: 7_200_000 },
};
