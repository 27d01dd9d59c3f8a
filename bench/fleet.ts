import { batchFile } from './support/batch-file.ts';
import { runBatch, uploadFile } from './support/run-batch.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import type { Offpeak } from './support/offpeak.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';
import { startUpstream } from './support/upstream.ts';
import type { Upstream } from './support/upstream.ts';

const rows = 10_000;
/** Models, each with its own upstreams. */
const models = ['bench', 'second', 'third', 'fourth'];

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

/** Slot utilization of upstreams with unknown slots. */
export const fleet: Workload = {
  name: 'fleet',
  about: `A batch of ${rows} requests on upstreams with unknown slots: share of their total slot time used, and the longest queue.`,

  async run(): Promise<Report> {
    const figures: Report['figures'] = [];
    for (const each of cases) figures.push(...(await measure(each)));
    return {
      figures,
      notes: [
        `Medians of ${models.length - 1} batches, each on upstreams without earlier measurements, after one to warm up the process.`,
      ],
    };
  },
};

async function measure({ name, how, servers, atLeast }: Case): Promise<Report['figures']> {
  const all = await Promise.all(
    models.map(async (model) => ({
      model,
      upstreams: await Promise.all(servers.map(() => startUpstream())),
    })),
  );
  const data = createDataFolder();
  const [first, ...others] = all.map(
    ({ model, upstreams }) =>
      [
        model,
        upstreamEngine(
          upstreams.map((each) => each.url(how)),
          null,
        ),
      ] as const,
  );
  const offpeak = await startOffpeak(data.path, first![1], Object.fromEntries(others));
  try {
    const runs: Run[] = [];
    for (const { model, upstreams } of all) runs.push(await runOver(offpeak, model, upstreams, servers));
    const [cold, ...warm] = runs as [Run, ...Run[]];
    const of = (figure: (run: Run) => number) => median(warm.map(figure));
    return [
      { name: `slot time used: ${name}`, value: of((run) => run.utilisation), atLeast },
      { name: `slot time used, first batch after the start: ${name}`, value: cold.utilisation },
      ...(how === 'refuse'
        ? [{ name: `refused, share of requests: ${name}`, value: of((run) => run.refused) }]
        : [
            { name: `longest queue, share of slots: ${name}`, value: of((run) => run.queued), atMost: 0.5 },
            {
              name: `longest queue, share of slots, most in any batch: ${name}`,
              value: Math.max(...runs.map((run) => run.queued)),
            },
          ]),
    ];
  } finally {
    await offpeak.stop();
    await Promise.all(all.flatMap(({ upstreams }) => upstreams.map((upstream) => upstream.stop())));
    data.remove();
  }
}

interface Run {
  utilisation: number;
  /** Longest queue of any upstream, as a share of its slots. */
  queued: number;
  refused: number;
}

async function runOver(
  offpeak: Offpeak,
  model: string,
  upstreams: readonly Upstream[],
  servers: readonly Server[],
): Promise<Run> {
  const lines = batchFile(rows, 1_000).toString().replaceAll('"bench-alias"', JSON.stringify(model));
  const fileId = await uploadFile(offpeak, Buffer.from(lines));
  await Promise.all(upstreams.map((upstream, at) => upstream.reset(servers[at])));
  await runBatch(offpeak, fileId, rows);
  const stats = await Promise.all(upstreams.map((upstream) => upstream.stats()));
  const first = Math.min(...stats.map((each) => each.first_epoch_ms));
  const last = Math.max(...stats.map((each) => each.last_epoch_ms));
  const busy = stats.reduce((sum, each) => sum + each.busy_slot_ms, 0);
  const slots = servers.reduce((sum, each) => sum + each.slots, 0);
  return {
    utilisation: busy / (slots * (last - first)),
    queued: Math.max(...stats.map((each, at) => each.max_queued / servers[at]!.slots)),
    refused: stats.reduce((sum, each) => sum + each.refused, 0) / rows,
  };
}
