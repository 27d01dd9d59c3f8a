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

/** A load that `bench/curve.ts` measured: requests at once, tokens per second, and mean tokens of an answer. */
interface CurveLoad {
  requests: number;
  tokensPerSecond: number;
  tokens: number;
}

/** Tokens of the prompts that were measured. */
const measuredPrompt = 76;

/** While a request makes its answer, all prompts that arrive are read as well: one for each request at once. */
function stepsWithoutReading(loads: readonly CurveLoad[], readMs: number): BatchingCurve['steps'] {
  return loads.map(({ requests, tokensPerSecond, tokens }) => [
    requests,
    requests * (1_000 / tokensPerSecond - (measuredPrompt * readMs) / tokens),
  ]);
}

/**
 * vLLM 0.32.0 (CPU build, `--enforce-eager --max-num-seqs 128`) on two cores of an Intel Xeon with AVX-512, and a random model
 * of the llama architecture with 53 million parameters in bfloat16, measured with `bench/curve.ts`. Close to a line: with
 * steps of 24.9 ms + 2.5 ms x requests, throughput differs by -6, +4, +5, -1, 0, -2 and 0 %.
 */
export const vllmProcessorLoads: readonly CurveLoad[] = [
  { requests: 1, tokensPerSecond: 37.6, tokens: 93 },
  { requests: 2, tokensPerSecond: 60.2, tokens: 99 },
  { requests: 4, tokensPerSecond: 97.7, tokens: 99 },
  { requests: 8, tokensPerSecond: 153.1, tokens: 89 },
  { requests: 16, tokensPerSecond: 198.6, tokens: 94 },
  { requests: 32, tokensPerSecond: 237.8, tokens: 92 },
  { requests: 64, tokensPerSecond: 249.1, tokens: 96 },
];

export const vllmProcessor: BatchingCurve = {
  steps: stepsWithoutReading(vllmProcessorLoads, 1.167),
  readMs: 1.167,
  readsPerStep: 2048,
  maxRunning: 128,
};

/**
 * llama-server (xllamacpp 2026.10.11549, `--parallel 64`) with the same model on the same machine. No line: a step decodes each
 * run of neighbouring slots on its own, so that 32 requests in 64 slots are slower than 8 or 64
 * (`findings/llama-server-split-cache.sh`). Up to 8, steps take 7.7 ms + 3.1 ms x requests within 5 % of throughput.
 */
export const llamaServerProcessorLoads: readonly CurveLoad[] = [
  { requests: 1, tokensPerSecond: 88.3, tokens: 92 },
  { requests: 2, tokensPerSecond: 119.6, tokens: 94 },
  { requests: 4, tokensPerSecond: 159.5, tokens: 89 },
  { requests: 8, tokensPerSecond: 203.8, tokens: 100 },
  { requests: 16, tokensPerSecond: 174.2, tokens: 95 },
  { requests: 32, tokensPerSecond: 137.5, tokens: 92 },
  { requests: 64, tokensPerSecond: 265.9, tokens: 96 },
];

export const llamaServerProcessor: BatchingCurve = {
  steps: stepsWithoutReading(llamaServerProcessorLoads, 1.308),
  readMs: 1.308,
  readsPerStep: 2048,
  maxRunning: 64,
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
