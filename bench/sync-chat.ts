import { fileURLToPath } from 'node:url';
import { figuresOf } from './support/measured.ts';
import type { Figures } from './support/measured.ts';
import { runLoad } from './support/load.ts';
import { apiKey, createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { firstLine, loadAverage, start, stop } from './support/processes.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';
import { startUpstream } from './support/upstream.ts';

const connections = 64;
const warmUp = 6000;
const requests = 6000;
const rounds = 5;

type Name = 'offpeak' | 'bare';

interface Cost {
  /** A request, all threads. */
  cpuUs: number;
  perSecond: number;
  peakMb: number;
}

interface Target {
  port: number;
  figures: (question?: 'reset') => Promise<Figures>;
}

/** What a synchronous request costs, against the least that a proxy in Node can cost. */
export const syncChat: Workload = {
  name: 'sync-chat',
  about: `POST /v1/chat/completions with ${connections} connections over an upstream that answers at once, against bare node:http and undici doing the same (key, JSON both ways, rewriting) without limits, checks or a ledger.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream();
    const data = createDataFolder();
    const url = upstream.url('fast');
    const offpeak = await startOffpeak(data.path, upstreamEngine(url, 128));
    const bare = start(
      'target',
      process.execPath,
      [fileURLToPath(new URL('support/bare-proxy.ts', import.meta.url)), url],
      { ipc: true },
    );
    try {
      const { port } = JSON.parse(await firstLine(bare)) as { port: number };
      const targets: Record<Name, Target> = {
        offpeak: {
          port: Number(new URL(offpeak.url).port),
          figures: (question) => offpeak.figures(question),
        },
        bare: { port, figures: (question) => figuresOf(bare, question) },
      };
      for (const target of Object.values(targets)) await measure(target, warmUp);
      const results: Record<Name, Cost>[] = [];
      for (let round = 0; round < rounds; round++) {
        // Whoever goes first finds another machine than who goes second: take turns.
        const order = round % 2 === 0 ? (['offpeak', 'bare'] as const) : (['bare', 'offpeak'] as const);
        const result = {} as Record<Name, Cost>;
        for (const name of order) result[name] = await measure(targets[name], requests);
        results.push(result);
      }
      const of = (figure: (round: Record<Name, Cost>) => number) => median(results.map(figure));
      return {
        figures: [
          {
            name: 'requests per CPU second, against bare',
            value: of((r) => r.bare.cpuUs / r.offpeak.cpuUs),
            atLeast: 0.6,
          },
          {
            name: 'requests per second, against bare',
            value: of((r) => r.offpeak.perSecond / r.bare.perSecond),
          },
          { name: 'CPU a request', value: of((r) => r.offpeak.cpuUs), unit: 'us' },
          { name: 'CPU a request, bare', value: of((r) => r.bare.cpuUs), unit: 'us' },
          { name: 'requests per second', value: of((r) => r.offpeak.perSecond), unit: '/s' },
          { name: 'most memory', value: of((r) => r.offpeak.peakMb), unit: 'MB' },
          { name: 'most memory, bare', value: of((r) => r.bare.peakMb), unit: 'MB' },
        ],
        notes: [
          `Medians of ${rounds} rounds of ${requests} requests each, taking turns, after ${warmUp} to warm up. CPU of all threads. Upstream in ${upstream.kind}.`,
          `Load average at the end: ${loadAverage().toFixed(1)}.`,
        ],
      };
    } finally {
      await stop(bare);
      await offpeak.stop();
      await upstream.stop();
      data.remove();
    }
  },
};

const body = JSON.stringify({
  model: 'bench-alias',
  messages: [
    { role: 'system', content: 'You are the harbour clerk. Answer in one sentence and name the pier.' },
    {
      role: 'user',
      content:
        'Where does the ferry to the islands leave on a Sunday in winter, and how early should I be there? '.repeat(
          2,
        ),
    },
  ],
  max_tokens: 64,
  temperature: 0.2,
});

async function measure({ port, figures }: Target, count: number): Promise<Cost> {
  const before = await figures('reset');
  const headers = { authorization: `Bearer ${apiKey}` };
  const { seconds, failures } = await runLoad({
    port,
    path: '/v1/chat/completions',
    headers,
    body,
    connections,
    requests: count,
  });
  const after = await figures();
  if (failures > 0) throw new Error(`${failures} of ${count} requests failed`);
  return {
    cpuUs: (after.cpuUs - before.cpuUs) / count,
    perSecond: count / seconds,
    peakMb: after.peakRss / 1e6,
  };
}
