import { startBare } from './support/bare.ts';
import { measureCost } from './support/cost.ts';
import { streamed } from './support/formats.ts';
import type { Format } from './support/formats.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { loadAverage } from './support/processes.ts';
import type { Figure, Report, Workload } from './support/report.ts';
import { measureRounds } from './support/rounds.ts';
import { startUpstream } from './support/upstream.ts';
import type { Upstream } from './support/upstream.ts';

const connections = 32;
const rounds = 5;
const names = ['bare', 'chat', 'messages', 'responses'] as const;

/**
 * How the events of a stream come, and how many. In a long stream the request itself costs little beside its events; in a
 * short one it is a part of what is measured.
 */
const paces = [
  { how: 'burst', events: 500, told: '500 at once', warmUp: 200, requests: 150, goal: { atMost: 1.3 } },
  { how: 'burst', events: 50, told: '50 at once', warmUp: 1500, requests: 1000, goal: {} },
  { how: 'paced', events: 50, told: '50, 10 ms apart', warmUp: 64, requests: 96, goal: {} },
] as const;

/** What an event of a stream costs, against the least that a relay in Node can cost. */
export const stream: Workload = {
  name: 'stream',
  about: `Streams over ${connections} connections, in each wire format, against a bare node:http relay of chat completions that parses each event, puts its own id and model into it, and writes together what came together.`,

  async run(): Promise<Report> {
    const figures: Figure[] = [];
    let kind = '';
    for (const pace of paces) {
      const upstream = await startUpstream(pace.events);
      kind = upstream.kind;
      try {
        figures.push(...(await measurePace(upstream, pace)));
      } finally {
        await upstream.stop();
      }
    }
    const counts = paces.map(({ told, requests }) => `${requests} streams (events: ${told})`);
    return {
      figures,
      notes: [
        `Medians of ${rounds} rounds of ${counts.join(', or ')}, taking turns, after a warm-up. CPU of all threads and of the whole request, shared among its events. Responses are not stored. Upstream in ${kind}.`,
        `Load average at the end: ${loadAverage().toFixed(1)}.`,
      ],
    };
  },
};

async function measurePace(upstream: Upstream, pace: (typeof paces)[number]): Promise<Figure[]> {
  const { how, events, told, warmUp, requests, goal } = pace;
  const url = upstream.url(how);
  const data = createDataFolder();
  const offpeak = await startOffpeak(data.path, upstreamEngine(url, 128));
  const bare = await startBare(url);
  const measure = (name: (typeof names)[number], count: number = requests) => {
    const format: Format = name === 'bare' ? 'chat' : name;
    const target = name === 'bare' ? bare : offpeak;
    return measureCost(target, streamed(format), { connections, requests: count });
  };
  try {
    for (const name of names) await measure(name, warmUp);
    const { median } = await measureRounds(names, rounds, (name) => measure(name));
    const ratio = (format: Format) => median((r) => r[format].cpuUs / r.bare.cpuUs);
    return [
      { name: `${told}: CPU an event, chat against bare`, value: ratio('chat'), ...goal },
      { name: `${told}: CPU an event, messages against bare`, value: ratio('messages') },
      { name: `${told}: CPU an event, responses against bare`, value: ratio('responses') },
      ...names.map((name) => ({
        name: `${told}: CPU an event, ${name}`,
        value: median((r) => r[name].cpuUs / events),
        unit: 'us',
      })),
    ];
  } finally {
    await bare.stop();
    await offpeak.stop();
    data.remove();
  }
}
