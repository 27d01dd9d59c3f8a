import { measureCost } from './support/cost.ts';
import { plain } from './support/formats.ts';
import type { Load } from './support/load.ts';
import { apiKey, createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import type { Report, Workload } from './support/report.ts';
import { measureRounds } from './support/rounds.ts';
import { startUpstream } from './support/upstream.ts';

const connections = 64;
const requests = 4000;
const rounds = 9;

/** The load at another prefix, with the key in this header. */
const at = (load: Load, prefix: string, header: string): Load => ({
  ...load,
  path: prefix + load.path,
  headers: { [header]: apiKey },
});

const loads = {
  chat: plain('chat'),
  openai: { ...plain('chat'), path: '/openai/v1/chat/completions' },
  azure: at(plain('chat'), '/openai', 'api-key'),
  messages: plain('messages'),
  anthropic: at(plain('messages'), '/anthropic', 'x-api-key'),
};
const names = ['chat', 'openai', 'azure', 'messages', 'anthropic'] as const;

/** Cost of the surfaces for clients of other services. */
export const surfaces: Workload = {
  name: 'surfaces',
  about: `The same request at /openai/v1 and /anthropic/v1 with ${connections} connections on an upstream that answers at once, compared with /v1 of the same server.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream();
    const data = createDataFolder();
    const offpeak = await startOffpeak(data.path, upstreamEngine(upstream.url('fast'), 128));
    const measure = (name: keyof typeof loads) =>
      measureCost(offpeak, loads[name], { connections, requests });
    try {
      await measureRounds(names, 2, measure);
      const { median } = await measureRounds(names, rounds, measure);
      const ratio = (name: keyof typeof loads, base: 'chat' | 'messages') =>
        median((r) => r[base].cpuUs / r[name].cpuUs);
      const cost = (name: keyof typeof loads) => median((r) => r[name].cpuUs);
      const figure = (name: string, value: number) => ({ name, value, atLeast: 0.97 });
      return {
        figures: [
          figure('chat at /openai/v1: requests per CPU second, against /v1', ratio('openai', 'chat')),
          figure('chat at /openai/v1 with api-key, against /v1', ratio('azure', 'chat')),
          figure('messages at /anthropic/v1 with x-api-key, against /v1', ratio('anthropic', 'messages')),
          { name: 'CPU a request, chat at /v1', value: cost('chat'), unit: 'us' },
          { name: 'CPU a request, messages at /v1', value: cost('messages'), unit: 'us' },
        ],
        notes: [
          `Medians of ${rounds} rounds of ${requests} requests each, alternating, after ${2 * requests} to warm up. CPU of all threads. Upstream in ${upstream.kind}.`,
        ],
      };
    } finally {
      await offpeak.stop();
      await upstream.stop();
      data.remove();
    }
  },
};
