import { h200 } from '../test/support/batching-curves.ts';
import { linesOf } from '../test/support/batching-load.ts';
import {
  arrivalsOf,
  type BesideResult,
  type Presence,
  runBeside,
} from '../test/support/batching-presence.ts';
import { percentile } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';

const maxSlowdown = 1.3;
const ms = 1_200_000;
const warmUpMs = 120_000;
/** Numbers of lines at once, of which the best is the baseline. */
const fixed = [56, 60, 64, 68];

const chats = { perSecond: 4, tokens: 28 };
const presences: { name: string; presence: Presence; goal?: number }[] = [
  { name: '30 s of 300 s', presence: { ...chats, onMs: 30_000, everyMs: 300_000 }, goal: 0.9 },
  { name: '10 s of 100 s', presence: { ...chats, onMs: 10_000, everyMs: 100_000 }, goal: 0.9 },
  { name: '3 s of 30 s', presence: { ...chats, onMs: 3_000, everyMs: 30_000 } },
  { name: 'all the time', presence: { ...chats, onMs: ms, everyMs: ms } },
];
const loads = [
  { name: 'lines of 2 s', tokens: 96 },
  { name: 'lines of 10 s', tokens: 400 },
  { name: 'lines of 20 s', tokens: 900 },
];

/** Batches that may slow interactive requests by a factor, on a server with continuous batching, in virtual time. */
export const slowdown: Workload = {
  name: 'slowdown',
  about: `Batches with \`max_slowdown: ${maxSlowdown}\` beside four chats a second of a third of a second, on a simulated server with continuous batching: p99 latency relative to that without batches, and tokens relative to the best fixed number of lines beside the same chats.`,

  async run(): Promise<Report> {
    const figures: Report['figures'] = [];
    for (const load of loads)
      for (const { name, presence, goal } of presences) {
        const arrivals = arrivalsOf(presence, ms);
        const common = { curve: h200, arrivals, ms };
        const lines = linesOf(4_000, load.tokens);
        const alone = await runBeside({ ...common, lines: [] });
        const full: BesideResult[] = [];
        for (const concurrency of fixed)
          full.push(await runBeside({ ...common, lines, concurrency, warmUpMs }));
        const best = full.reduce((a, b) => (b.tokens > a.tokens ? b : a));
        const limited = await runBeside({ ...common, lines, warmUpMs, maxSlowdown });
        const ratio = ({ latencies }: BesideResult) =>
          percentile(latencies, 99) / percentile(alone.latencies, 99);
        const of = (what: string) => `${load.name}, chats ${name}: ${what}`;
        figures.push(
          { name: of('p99'), value: ratio(limited), atMost: maxSlowdown },
          { name: of('p99 with the best fixed number of lines'), value: ratio(best) },
          {
            name: of('tokens'),
            value: limited.tokens / best.tokens,
            ...(goal !== undefined && { atLeast: goal }),
          },
        );
      }
    return {
      figures,
      notes: [
        'The code is that of the pool and of the admission of lines; the server and the clock are simulated, so the figures are the same on every machine. The server has the figures of one H200 with a model of a billion parameters.',
        `Chats arrive at random, about ${chats.perSecond} a second while there are any; the first ones after a silence count as the others. Lines run for ${warmUpMs / 1000} s before, in which the number of requests and the slowdown by them are found.`,
        'A line that gives way loses its work: where chats come back within the time of a few lines, that costs the most.',
      ],
    };
  },
};
