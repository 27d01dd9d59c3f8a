import { h200, largeGpu, processor } from '../test/support/batching-curves.ts';
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
}

/** Estimates, not measured: more memory for caches, and a processor that reads prompts slowly. */
const servers: Server[] = [
  { name: 'GPU, best at 64', curve: h200, fixed: [56, 60, 64, 68, 72, 80] },
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
      const hasGoal = server.curve === h200;
      for (const { name, count, tokens, atLeast } of hasGoal
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
          { name: of('first batch'), value: best / runs[0]!, ...(hasGoal && { atLeast }) },
          { name: of('second batch'), value: best / runs[1]!, ...(hasGoal && { atLeast: 0.98 }) },
          { name: of('after a restart'), value: best / restarted, ...(hasGoal && { atLeast: 0.95 }) },
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
        'The code is that of the pool; the server and the clock are simulated, so the figures are the same on every machine. The first server has the figures of one H200 with a model of a billion parameters; the others are estimates.',
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
