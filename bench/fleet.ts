import type { EngineConfig } from '../src/config.ts';
import { batchFile, multipart } from './support/batch-file.ts';
import { runBatch } from './support/run-batch.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { loadAverage } from './support/processes.ts';
import type { Report, Workload } from './support/report.ts';
import { startUpstream } from './support/upstream.ts';
import type { Upstream } from './support/upstream.ts';

const rows = 10_000;

interface Server {
  slots: number;
  delayMs: number;
  sigma: number;
}

interface Case {
  name: string;
  how: 'delay' | 'refuse';
  servers: Server[];
  atLeast: number;
}

const one = (slots: number, sigma = 0): Server[] => [{ slots, delayMs: 50, sigma }];

const cases: Case[] = [
  { name: '64 slots x 50 ms', how: 'delay', servers: one(64), atLeast: 0.95 },
  { name: '64 slots, lognormal times (sigma 0.6)', how: 'delay', servers: one(64, 0.6), atLeast: 0.92 },
  { name: '429 above 48 slots', how: 'refuse', servers: one(48), atLeast: 0.88 },
  {
    name: 'four servers of 16 slots at 40, 60, 90 and 120 ms',
    how: 'delay',
    servers: [40, 60, 90, 120].map((delayMs) => ({ slots: 16, delayMs, sigma: 0 })),
    atLeast: 0.95,
  },
];

/** How well a batch fills servers of which nobody told how many slots they have. */
export const fleet: Workload = {
  name: 'fleet',
  about: `A batch of ${rows} requests over servers whose slots are not told: how much of their joint slot time is used, and how many requests wait there at most.`,

  async run(): Promise<Report> {
    const figures: Report['figures'] = [];
    for (const each of cases) figures.push(...(await measure(each)));
    return {
      figures,
      notes: [
        'One batch each, the first after the start of the server; nothing is known of the servers beforehand.',
        `Load average at the end: ${loadAverage().toFixed(1)}.`,
      ],
    };
  },
};

async function measure({ name, how, servers, atLeast }: Case): Promise<Report['figures']> {
  const upstreams = await Promise.all(servers.map(() => startUpstream()));
  const data = createDataFolder();
  const offpeak = await startOffpeak(data.path, engineOver(upstreams, how));
  try {
    const { body, contentType } = multipart(batchFile(rows, 1_000));
    const file = await offpeak.post<{ id: string }>('/v1/files', body, contentType);
    await Promise.all(upstreams.map((upstream, at) => upstream.reset(servers[at])));
    await runBatch(offpeak, file.id, rows);
    const stats = await Promise.all(upstreams.map((upstream) => upstream.stats()));
    const first = Math.min(...stats.map((each) => each.first_epoch_ms));
    const last = Math.max(...stats.map((each) => each.last_epoch_ms));
    const busy = stats.reduce((sum, each) => sum + each.busy_slot_ms, 0);
    const slots = servers.reduce((sum, each) => sum + each.slots, 0);
    const queued = Math.max(...stats.map((each, at) => each.max_queued / servers[at]!.slots));
    const refused = stats.reduce((sum, each) => sum + each.refused, 0);
    return [
      { name: `slot time used: ${name}`, value: busy / (slots * (last - first)), atLeast },
      how === 'refuse'
        ? { name: `refused, share of requests: ${name}`, value: refused / rows }
        : { name: `longest queue, share of slots: ${name}`, value: queued, atMost: 0.5 },
    ];
  } finally {
    await offpeak.stop();
    await Promise.all(upstreams.map((upstream) => upstream.stop()));
    data.remove();
  }
}

function engineOver(upstreams: readonly Upstream[], how: Case['how']): EngineConfig {
  const urls = upstreams.map((upstream) => upstream.url(how));
  return upstreamEngine(urls, null);
}
