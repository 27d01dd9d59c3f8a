import type { BatchingCurve } from './batching-server.ts';

/** A measured load of a server: requests at once, tokens per second, and the median seconds of an answer. */
interface MeasuredLoad {
  requests: number;
  tokensPerSecond: number;
  medianSeconds: number;
}

/** Tokens of the answers that were measured. */
const measuredTokens = 96;

/** A step takes what a token takes of the median answer. The throughput of a batch is lower, because it includes the end. */
function stepsOf(loads: readonly MeasuredLoad[]): BatchingCurve['steps'] {
  return loads.map(({ requests, medianSeconds }) => [requests, (1_000 * medianSeconds) / measuredTokens]);
}

/** One H200 with vLLM and a model of a billion parameters, batches of 600 lines. */
export const h200Loads: readonly MeasuredLoad[] = [
  { requests: 32, tokensPerSecond: 1946, medianSeconds: 1.5 },
  { requests: 64, tokensPerSecond: 2695, medianSeconds: 2 },
  { requests: 128, tokensPerSecond: 2506, medianSeconds: 4.2 },
  { requests: 256, tokensPerSecond: 2447, medianSeconds: 8.2 },
];

export const h200: BatchingCurve = {
  steps: stepsOf(h200Loads),
  readMs: 0.01,
  readsPerStep: 2048,
  maxRunning: 256,
};

/** An estimate: more memory for caches. */
export const largeGpu: BatchingCurve = {
  ...h200,
  steps: [
    [128, 31.4],
    [256, 37.8],
    [512, 101.8],
  ],
  maxRunning: 512,
};

/** An estimate: a processor that reads prompts slowly. */
export const processor: BatchingCurve = {
  ...h200,
  steps: [
    [8, 92],
    [16, 124],
    [32, 316],
  ],
  readMs: 1.5,
};
