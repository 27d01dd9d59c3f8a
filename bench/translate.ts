import { measureCost } from './support/cost.ts';
import { plain } from './support/formats.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import type { Report, Workload } from './support/report.ts';
import { measureRounds } from './support/rounds.ts';
import { startUpstream } from './support/upstream.ts';

const connections = 64;
const requests = 4000;
const rounds = 7;

const loads = {
  chat: plain('chat'),
  messages: plain('messages'),
  responses: plain('responses', { store: false }),
  stored: plain('responses'),
};
const names = ['chat', 'messages', 'responses', 'stored'] as const;

/** Cost of a wire format that the upstream does not support. */
export const translate: Workload = {
  name: 'translate',
  about: `POST /v1/messages and /v1/responses with ${connections} connections on an upstream that supports only chat completions and answers at once, compared with the same question to /v1/chat/completions of the same server.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream();
    const data = createDataFolder();
    const offpeak = await startOffpeak(data.path, upstreamEngine(upstream.url('fast'), 128));
    const measure = (name: keyof typeof loads) =>
      measureCost(offpeak, loads[name], { connections, requests });
    try {
      for (const name of names) await measure(name);
      const { median } = await measureRounds(names, rounds, measure);
      const ratio = (name: keyof typeof loads) => median((r) => r.chat.cpuUs / r[name].cpuUs);
      const cost = (name: keyof typeof loads) => median((r) => r[name].cpuUs);
      return {
        figures: [
          {
            name: 'messages: requests per CPU second, against chat',
            value: ratio('messages'),
            atLeast: 0.85,
          },
          {
            name: 'responses, not stored: requests per CPU second, against chat',
            value: ratio('responses'),
            atLeast: 0.75,
          },
          { name: 'responses, stored: requests per CPU second, against chat', value: ratio('stored') },
          { name: 'CPU a request, chat', value: cost('chat'), unit: 'us' },
          { name: 'CPU a request, messages', value: cost('messages'), unit: 'us' },
          { name: 'CPU a request, responses, not stored', value: cost('responses'), unit: 'us' },
          { name: 'CPU a request, responses, stored', value: cost('stored'), unit: 'us' },
        ],
        notes: [
          `Medians of ${rounds} rounds of ${requests} requests each, alternating, after ${requests} to warm up. CPU of all threads. Upstream in ${upstream.kind}.`,
        ],
      };
    } finally {
      await offpeak.stop();
      await upstream.stop();
      data.remove();
    }
  },
};
