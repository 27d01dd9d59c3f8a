import { batchFile, multipart } from './support/batch-file.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import type { Offpeak } from './support/offpeak.ts';
import { loadAverage } from './support/processes.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';
import { runBatch } from './support/run-batch.ts';
import { startUpstream } from './support/upstream.ts';
import type { Upstream } from './support/upstream.ts';

const rows = 10_000;
const slots = 64;
const delayMs = 50;
const rounds = 3;

/** How well a batch fills the slots of its engine; the engine itself counts. */
export const batchFill: Workload = {
  name: 'batch-fill',
  about: `A batch of ${rows} requests of 3.3 kB over an upstream with ${slots} slots of ${delayMs} ms each: how much of its slot time is used, and what a row costs.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream();
    const data = createDataFolder();
    const offpeak = await startOffpeak(data.path, upstreamEngine(upstream.url('delay'), slots));
    try {
      const { body, contentType } = multipart(batchFile(rows, 3250));
      const file = await offpeak.post<{ id: string }>('/v1/files', body, contentType);
      const results: Run[] = [];
      for (let round = 0; round < rounds; round++) results.push(await runOnce(offpeak, upstream, file.id));
      const of = (figure: (run: Run) => number) => median(results.map(figure));
      return {
        figures: [
          { name: 'slot time used', value: of((r) => r.utilisation), atLeast: 0.95 },
          {
            name: 'slot time used, first batch after the start',
            value: results[0]?.utilisation ?? Number.NaN,
          },
          { name: 'CPU a row', value: of((r) => r.cpuUs), unit: 'us' },
          { name: 'first request sent after POST /v1/batches', value: of((r) => r.firstSendMs), unit: 'ms' },
          { name: 'completed after the last answer', value: of((r) => r.finishMs), unit: 'ms' },
          { name: 'most in flight at once', value: of((r) => r.inFlight) },
          { name: 'event loop delay, p99', value: of((r) => r.loopP99), unit: 'ms' },
          { name: 'most memory', value: of((r) => r.peakMb), unit: 'MB' },
        ],
        notes: [
          `Median of ${rounds} batches over one server; the number of slots is configured. Upstream in ${upstream.kind}.`,
          `Load average at the end: ${loadAverage().toFixed(1)}.`,
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
  utilisation: number;
  cpuUs: number;
  firstSendMs: number;
  finishMs: number;
  inFlight: number;
  loopP99: number;
  peakMb: number;
}

async function runOnce(offpeak: Offpeak, upstream: Upstream, fileId: string): Promise<Run> {
  await upstream.reset({ slots, delayMs });
  const before = await offpeak.figures('reset');
  const posted = Date.now();
  const finished = await runBatch(offpeak, fileId, rows);
  const after = await offpeak.figures();
  const stats = await upstream.stats();
  if (stats.total !== rows) throw new Error(`the upstream saw ${stats.total} requests instead of ${rows}`);
  return {
    utilisation: stats.utilisation,
    cpuUs: (after.cpuUs - before.cpuUs) / rows,
    firstSendMs: stats.first_epoch_ms - posted,
    finishMs: finished - stats.last_epoch_ms,
    inFlight: stats.max_active + stats.max_queued,
    loopP99: after.loopP99,
    peakMb: after.peakRss / 1e6,
  };
}
