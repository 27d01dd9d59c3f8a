import { startBare } from './support/bare.ts';
import { measureCost } from './support/cost.ts';
import { streamed } from './support/formats.ts';
import type { Format } from './support/formats.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import type { Figure, Report, Workload } from './support/report.ts';
import { measureRounds } from './support/rounds.ts';
import { startUpstream } from './support/upstream.ts';
import type { Upstream } from './support/upstream.ts';

const connections = 32;
const rounds = 5;
const names = ['bare', 'chat', 'messages', 'responses'] as const;

/**
 * Timing and number of the events in a stream. In a long stream, the request itself costs little; in a short one, it is a
 * relevant part.
 */
const paces = [
  { how: 'burst', events: 500, label: '500 at once', warmUp: 200, requests: 150, goal: { atMost: 1.3 } },
  { how: 'burst', events: 50, label: '50 at once', warmUp: 1500, requests: 1000, goal: {} },
  { how: 'paced', events: 50, label: '50, 10 ms apart', warmUp: 64, requests: 96, goal: {} },
] as const;

/** Cost per stream event, relative to the minimum for a relay in Node. */
export const stream: Workload = {
  name: 'stream',
  about: `Streams over ${connections} connections in each wire format, compared with a bare node:http relay of chat completions that parses each event, sets its own ID and model, and forwards together what arrived together.`,

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
    const counts = paces.map(({ label, requests }) => `${requests} streams (events: ${label})`);
    return {
      figures,
      notes: [
        `Medians of ${rounds} rounds of ${counts.join(', or ')}, alternating, after a warm-up. CPU of all threads for the whole request, divided by its events. Responses are not stored. Upstream in ${kind}.`,
      ],
    };
  },
};

async function measurePace(upstream: Upstream, pace: (typeof paces)[number]): Promise<Figure[]> {
  const { how, events, label, warmUp, requests, goal } = pace;
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
      { name: `${label}: CPU an event, chat against bare`, value: ratio('chat'), ...goal },
      { name: `${label}: CPU an event, messages against bare`, value: ratio('messages') },
      { name: `${label}: CPU an event, responses against bare`, value: ratio('responses') },
      ...names.map((name) => ({
        name: `${label}: CPU an event, ${name}`,
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
