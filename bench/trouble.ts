import { batchFile } from './support/batch-file.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import type { Offpeak } from './support/offpeak.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';
import { runBatch, uploadFile } from './support/run-batch.ts';
import { startUpstream } from './support/upstream.ts';
import type { Upstream } from './support/upstream.ts';

const rows = 10_000;
const slots = 64;
const server = { slots, delayMs: 50, sigma: 0.6 };
/** Ten times the mean latency, like five minutes for answers of half a minute; almost no answer takes as long. */
const firstByteMs = 500;
const rounds = 5;

/** Slot utilization of an upstream that leaves some requests unanswered. */
export const trouble: Workload = {
  name: 'trouble',
  about: `A batch of ${rows} requests on an upstream with ${slots} slots of ${server.delayMs} ms, lognormal (sigma ${server.sigma}), that rejects 1 % of requests with 429 and \`retry-after: 1\`, cuts 0.5 % off at their end, and never answers 0.1 %: share of its slot time used for answers.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream();
    const data = createDataFolder();
    const engine = upstreamEngine(upstream.url('trouble'), slots, { firstByteMs });
    const offpeak = await startOffpeak(data.path, engine);
    try {
      const fileId = await uploadFile(offpeak, batchFile(rows, 3250));
      const cold = await runOnce(offpeak, upstream, fileId);
      const runs: Run[] = [];
      for (let n = 0; n < rounds; n++) runs.push(await runOnce(offpeak, upstream, fileId));
      const of = (figure: (run: Run) => number) => median(runs.map(figure));
      return {
        figures: [
          { name: 'slot time used for answers', value: of((r) => r.used), atLeast: 0.9 },
          { name: 'slot time used for answers, first batch after the start', value: cold.used },
          { name: 'slot time of what was cut off or hung', value: of((r) => r.lost) },
          { name: 'refused', value: of((r) => r.refused) },
          { name: 'cut off', value: of((r) => r.cut) },
          { name: 'hung', value: of((r) => r.hung) },
          { name: 'longest queue at the upstream', value: of((r) => r.queued) },
        ],
        notes: [
          `Medians of ${rounds} batches after one to warm up the process; every line was answered. The number of slots is configured, and \`first_byte\` is ${firstByteMs} ms. Upstream in ${upstream.kind}.`,
        ],
      };
    } finally {
      await offpeak.stop();
      await upstream.stop();
      data.remove();
    }
  },
};

interface Run {
  used: number;
  lost: number;
  refused: number;
  cut: number;
  hung: number;
  queued: number;
}

async function runOnce(offpeak: Offpeak, upstream: Upstream, fileId: string): Promise<Run> {
  await upstream.reset(server);
  await runBatch(offpeak, fileId, rows);
  const { busy_slot_ms: busy, lost_slot_ms: lost, span_ms: span, ...counts } = await upstream.stats();
  return {
    used: (busy - lost) / (slots * span),
    lost: lost / (slots * span),
    refused: counts.refused,
    cut: counts.cut,
    hung: counts.hung,
    queued: counts.max_queued,
  };
}
