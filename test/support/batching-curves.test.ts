import { describe, expect, it } from 'vitest';
import {
  llamaServerProcessor,
  llamaServerProcessorLoads,
  vllmProcessor,
  vllmProcessorLoads,
} from './batching-curves.ts';
import { runBeside } from './batching-presence.ts';
import { seededFloats } from './slot-server.ts';

describe('a measured curve', () => {
  it.each([
    { server: 'vLLM', curve: vllmProcessor, loads: vllmProcessorLoads },
    { server: 'llama-server', curve: llamaServerProcessor, loads: llamaServerProcessorLoads },
  ])('has the throughput that was measured at each number of requests: $server', async ({ curve, loads }) => {
    for (const { requests, tokensPerSecond, tokens } of loads) {
      const random = seededFloats(3);
      // As bench/curve.ts: lengths differ by a third.
      const lines = Array.from({ length: 1_000 }, () => ({
        prompt: 76,
        tokens: Math.round(tokens * (2 / 3 + (2 / 3) * random())),
      }));
      const ms = 400_000;
      const run = await runBeside({
        curve,
        arrivals: [],
        ms,
        lines,
        concurrency: requests,
        warmUpMs: 100_000,
      });
      expect((1_000 * run.tokens) / ms / tokensPerSecond, `${requests} at once`).toBeCloseTo(1, 1);
    }
  });
});
