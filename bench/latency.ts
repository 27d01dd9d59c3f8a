import { startBare } from './support/bare.ts';
import { plain } from './support/formats.ts';
import { latencies, runLoad } from './support/load.ts';
import type { Load } from './support/load.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { percentile } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';
import { measureRounds } from './support/rounds.ts';
import { startUpstream } from './support/upstream.ts';

const perSecond = 200;
const requests = 500;
const rounds = 5;
const warmUp = { connections: 8, requests: 4000 };
const names = ['direct', 'bare', 'chat', 'messages', 'responses'] as const;
type Name = (typeof names)[number];

/** Latency added to that of the upstream. */
export const latency: Workload = {
  name: 'latency',
  about: `${perSecond} requests per second, each at its scheduled time, on an upstream that answers at once: latency that Offpeak adds, compared with the bare proxy.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream();
    const data = createDataFolder();
    const url = new URL(upstream.url('fast'));
    const offpeak = await startOffpeak(data.path, upstreamEngine(url.href, 128));
    const bare = await startBare(url.href);
    const chat = plain('chat');
    const { port } = offpeak;
    const targets: Record<Name, { port: number; load: Load }> = {
      direct: { port: Number(url.port), load: { ...chat, path: `${url.pathname}/chat/completions` } },
      bare: { port: bare.port, load: chat },
      chat: { port, load: chat },
      messages: { port, load: plain('messages') },
      responses: { port, load: plain('responses', { store: false }) },
    };
    const measure = async (name: Name) => {
      const { port: at, load } = targets[name];
      const took = await latencies(load, { port: at, perSecond, requests });
      return { p50: percentile(took, 50), p99: percentile(took, 99) };
    };
    try {
      for (const name of names) await runLoad(targets[name].load, { ...warmUp, port: targets[name].port });
      const { median } = await measureRounds(names, rounds, measure);
      const added = (name: Name, p: 'p50' | 'p99') => median((r) => r[name][p] - r.direct[p]);
      const goals: Partial<Record<Name, object>> = { chat: { atMost: 0.6 } };
      return {
        figures: [
          ...(['chat', 'messages', 'responses', 'bare'] as const).map((name) => ({
            name: `added p50, ${name}`,
            value: added(name, 'p50'),
            unit: 'ms',
            ...goals[name],
          })),
          {
            name: 'p50, chat against bare',
            value: median((r) => r.chat.p50 / r.bare.p50),
            atMost: 1.3,
          },
          { name: 'p50, messages against bare', value: median((r) => r.messages.p50 / r.bare.p50) },
          { name: 'p50, responses against bare', value: median((r) => r.responses.p50 / r.bare.p50) },
          { name: 'added p99, chat', value: added('chat', 'p99'), unit: 'ms' },
          { name: 'added p99, bare', value: added('bare', 'p99'), unit: 'ms' },
          { name: 'p50, direct', value: median((r) => r.direct.p50), unit: 'ms' },
        ],
        notes: [
          `Medians of ${rounds} rounds of ${requests} requests each, alternating, after ${warmUp.requests} to warm up. Responses are not stored. Upstream in ${upstream.kind}.`,
        ],
      };
    } finally {
      await bare.stop();
      await offpeak.stop();
      await upstream.stop();
      data.remove();
    }
  },
};
