import { h200, llamaServerProcessor, vllmProcessor } from '../test/support/batching-curves.ts';
import type { BatchingCurve } from '../test/support/batching-server.ts';
import { linesOf } from '../test/support/batching-load.ts';
import { arrivalsOf, type BesideResult, runBeside } from '../test/support/batching-presence.ts';
import { percentile } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';

const maxSlowdown = 1.3;
const warmUpMs = 120_000;
/** Median tokens of a chat. */
const chatTokens = 28;

interface Server {
  name: string;
  curve: BatchingCurve;
  /** Numbers of lines at once, of which the best is the baseline. */
  fixed: number[];
  /** Chats a second while there are any: about one or two at a time. */
  perSecond: number;
  /** Virtual milliseconds: some hundred chats where these are there for a tenth of them. */
  ms: number;
  /** Median tokens of lines. */
  lines: number[];
}

const slow = { perSecond: 0.5, ms: 6_000_000, lines: [96] };
const servers: Server[] = [
  {
    name: 'H200',
    curve: h200,
    fixed: [56, 60, 64, 68],
    perSecond: 4,
    ms: 1_200_000,
    lines: [96, 400, 900],
  },
  { name: 'vLLM on 2 cores', curve: vllmProcessor, fixed: [48, 64, 96], ...slow },
  { name: 'llama-server on 2 cores', curve: llamaServerProcessor, fixed: [8, 64], ...slow },
];

/** Times with chats. */
const presences = [
  { name: '30 s of 300 s', onMs: 30_000, everyMs: 300_000, goal: 0.9 },
  { name: '10 s of 100 s', onMs: 10_000, everyMs: 100_000, goal: 0.9 },
  { name: '3 s of 30 s', onMs: 3_000, everyMs: 30_000 },
  { name: 'all the time', onMs: null, everyMs: null },
];

/** Batches that may slow interactive requests by a factor, on servers with continuous batching, in virtual time. */
export const slowdown: Workload = {
  name: 'slowdown',
  about: `Batches with \`max_slowdown: ${maxSlowdown}\` alongside chats of ${chatTokens} tokens, on simulated servers with continuous batching: p99 latency relative to that without batches, and tokens relative to the best fixed number of lines alongside the same chats.`,

  async run(): Promise<Report> {
    const figures: Report['figures'] = [];
    for (const server of servers)
      for (const tokens of server.lines)
        for (const presence of presences) figures.push(...(await measure(server, tokens, presence)));
    return {
      figures,
      notes: [
        'The code is that of the pool and of the admission of lines; the server and the clock are simulated, so the figures are the same on every machine. The speeds were measured: vLLM on one H200 with a model of a billion parameters, and vLLM and llama-server on two cores with one of 53 million.',
        `Chats arrive at random, about ${servers.map(({ name, perSecond }) => `${perSecond} a second (${name})`).join(', ')} while there are any; the first ones after a silence count as the others. Lines run for ${warmUpMs / 1000} s before, in which the number of requests and the slowdown by them are found.`,
        'On the H200, lines of 96, 400 and 900 tokens take about 2, 10 and 20 s.',
        'On two cores, reading a prompt of 140 tokens takes as long as several steps, and lines that return are read again: while the server reads them, chats get no tokens, and the pace of answers does not show it. When all lines returned at once, the p99 of vLLM was 1.3 to 2.0, and that of llama-server 1.7 to 2.1.',
        'A line that gives way loses its work: where chats come back within the time of a few lines, that costs the most.',
      ],
    };
  },
};

async function measure(
  { name: server, curve, fixed, perSecond, ms }: Server,
  tokens: number,
  { name, goal, onMs, everyMs }: (typeof presences)[number],
): Promise<Report['figures']> {
  const arrivals = arrivalsOf(
    { onMs: onMs ?? ms, everyMs: everyMs ?? ms, perSecond, tokens: chatTokens },
    ms,
  );
  const common = { curve, arrivals, ms };
  const lines = linesOf(4_000, tokens);
  const alone = await runBeside({ ...common, lines: [] });
  const full: BesideResult[] = [];
  for (const concurrency of fixed) full.push(await runBeside({ ...common, lines, concurrency, warmUpMs }));
  const best = full.reduce((a, b) => (b.tokens > a.tokens ? b : a));
  const limited = await runBeside({ ...common, lines, warmUpMs, maxSlowdown });
  const ratio = ({ latencies }: BesideResult) => percentile(latencies, 99) / percentile(alone.latencies, 99);
  const of = (what: string) => `${server}, lines of ${tokens} tokens, chats ${name}: ${what}`;
  return [
    { name: of('p99'), value: ratio(limited), atMost: maxSlowdown },
    { name: of('p99 with the best fixed number of lines'), value: ratio(best) },
    {
      name: of('tokens'),
      value: limited.tokens / best.tokens,
      ...(goal !== undefined && { atLeast: goal }),
    },
  ];
}
