import {
  h200,
  largeGpu,
  llamaServerProcessor,
  processor,
  vllmProcessor,
} from '../test/support/batching-curves.ts';
import type { BatchingCurve } from '../test/support/batching-server.ts';
import {
  createWorld,
  type Line,
  linesOf,
  runDiscovered,
  runFixed,
  runLimited,
} from '../test/support/batching-load.ts';
import type { Report, Workload } from './support/report.ts';
import { aimd, gradient2, type TextbookLimit, vegas } from './support/textbook-limits.ts';

interface Server {
  name: string;
  curve: BatchingCurve;
  /** Numbers of requests at once, of which the best is the baseline. */
  fixed: number[];
  /** Measured, and searched by Offpeak. */
  hasGoal?: true;
}

const servers: Server[] = [
  { name: 'vLLM on an H200', curve: h200, fixed: [56, 60, 64, 68, 72, 80], hasGoal: true },
  { name: 'vLLM on 2 cores', curve: vllmProcessor, fixed: [32, 48, 64, 96, 128], hasGoal: true },
  { name: 'llama-server on 2 cores', curve: llamaServerProcessor, fixed: [8, 56, 64, 72] },
  { name: 'large GPU, best at 256', curve: largeGpu, fixed: [128, 192, 256, 288, 320] },
  { name: 'processor, best at 16', curve: processor, fixed: [12, 14, 16, 20, 24] },
];

const loads = [
  { name: '600 answers of 2 s', count: 600, tokens: 96, atLeast: 0.9 },
  { name: '3,000 answers of 2 s', count: 3_000, tokens: 96, atLeast: 0.96 },
  { name: '300 answers of 10 s', count: 300, tokens: 400, atLeast: 0.9 },
  { name: '300 answers of 20 s', count: 300, tokens: 900, atLeast: 0.85 },
];

const textbook: Record<string, () => TextbookLimit> = { Vegas: vegas, Gradient2: gradient2, AIMD: aimd };

/** Discovery of the limit of servers with continuous batching, in virtual time. */
export const ramp: Workload = {
  name: 'ramp',
  about:
    'Batches on servers with continuous batching and an unknown limit, in virtual time: throughput relative to the best fixed number of requests at once.',

  async run(): Promise<Report> {
    const figures: Report['figures'] = [];
    for (const server of servers) {
      for (const { name, count, tokens, atLeast } of server.hasGoal
        ? loads
        : loads.filter((load) => load.count * load.tokens <= 120_000)) {
        const lines = linesOf(count, tokens);
        const best = await bestOf(server, lines);
        const world = createWorld(server.curve);
        const runs = [await runDiscovered(world, lines), await runDiscovered(world, lines)];
        const again = createWorld(server.curve);
        again.pool.share({ others: 0, discovered: null, lastDiscovered: world.pool.discovered! });
        const restarted = await runDiscovered(again, lines);
        const of = (what: string) => `${server.name}, ${name}: ${what}`;
        figures.push(
          { name: of('first batch'), value: best / runs[0]!, ...(server.hasGoal && { atLeast }) },
          { name: of('second batch'), value: best / runs[1]!, ...(server.hasGoal && { atLeast: 0.98 }) },
          { name: of('after a restart'), value: best / restarted, ...(server.hasGoal && { atLeast: 0.95 }) },
        );
        for (const [by, create] of Object.entries(textbook))
          figures.push({
            name: of(`first batch with ${by}`),
            value: best / (await runLimited(server.curve, lines, create())),
          });
      }
    }
    return {
      figures,
      notes: [
        'The code is that of the pool; the server and the clock are simulated, so the figures are the same on every machine. The first three servers were measured: vLLM on one H200 with a model of a billion parameters, and vLLM and llama-server on two cores with one of 53 million, where answers take about ten times as long; the others are estimates.',
        'llama-server reports its slots, so Offpeak searches no limit for it; here it does, as behind a gateway that hides them. Its throughput has two peaks, at 8 and at 64 of its 64 slots, and the search stays at the first.',
        'On two cores, the throughput of vLLM rises slowly, by 8 % from 25 to 64 requests at once, and the search ends near 30.',
        'Vegas, Gradient2 and AIMD are in support/textbook-limits.ts, and start with 8 requests as the pool does.',
      ],
    };
  },
};

async function bestOf({ curve, fixed }: Server, lines: readonly Line[]): Promise<number> {
  const runs: number[] = [];
  for (const limit of fixed) runs.push(await runFixed(curve, lines, limit));
  return Math.min(...runs);
}
