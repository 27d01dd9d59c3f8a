import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { batchFile } from './support/batch-file.ts';
import { type Figures, readFigures } from './support/measured.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import type { Offpeak } from './support/offpeak.ts';
import { firstLine, start, stop } from './support/processes.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';
import { runBatch, uploadFile } from './support/run-batch.ts';
import { startUpstream } from './support/upstream.ts';
import type { Upstream, UpstreamStats } from './support/upstream.ts';

const rows = 10_000;
const slots = 64;
/** Enough slots that the process, on one core, is the limit. */
const manySlots = 512;
/** Recommendation of docs/sizing.md for this many slots. */
const largeHalfSpaces = '--max-semi-space-size=64';
const delayMs = 50;
/** Uncounted batches: V8 optimizes over tens of thousands of rows, for the bare dispatcher too. */
const warmUps = 4;
const rounds = 3;

/** Slot utilization of a batch, as counted by the upstream. */
export const batchFill: Workload = {
  name: 'batch-fill',
  about: `A batch of ${rows} requests of 3.3 kB on an upstream with ${slots} slots of ${delayMs} ms: share of its slot time used, and cost per row compared with a bare undici dispatcher with the same rows and group commit. Also the rows per second of both with ${manySlots} such slots.`,

  async run(): Promise<Report> {
    const { of, first, kind } = await measure(slots);
    const many = await measure(manySlots);
    const roomy = await measure(manySlots, [largeHalfSpaces]);
    return {
      figures: [
        { name: 'slot time used', value: of((r) => r.utilisation), atLeast: 0.975 },
        { name: 'slot time used, first batch after the start', value: first.utilisation },
        {
          name: 'CPU a row, against a bare dispatcher',
          value: of((r) => r.cpuUs / r.bare.cpuUs),
          atMost: 1.9,
        },
        {
          name: 'CPU a row, against a bare dispatcher, first batch of both',
          value: first.cpuUs / first.bare.cpuUs,
        },
        { name: 'CPU a row', value: of((r) => r.cpuUs), unit: 'us' },
        { name: 'CPU a row, bare dispatcher', value: of((r) => r.bare.cpuUs), unit: 'us' },
        { name: 'first request sent after POST /v1/batches', value: of((r) => r.firstSendMs), unit: 'ms' },
        { name: 'completed after the last answer', value: of((r) => r.finishMs), unit: 'ms' },
        { name: 'most in flight at once', value: of((r) => r.inFlight) },
        { name: 'event loop delay, p99', value: of((r) => r.loopP99), unit: 'ms' },
        { name: 'most memory', value: of((r) => r.peakMb), unit: 'MB' },
        {
          name: `rows a second through ${manySlots} slots, against a bare dispatcher`,
          value: many.of((r) => r.perSecond / r.bare.perSecond),
          atLeast: 0.65,
        },
        {
          name: `rows a second through ${manySlots} slots, against a bare dispatcher, both with ${largeHalfSpaces}`,
          value: roomy.of((r) => r.perSecond / r.bare.perSecond),
        },
        { name: `rows a second through ${manySlots} slots`, value: many.of((r) => r.perSecond) },
        {
          name: `rows a second through ${manySlots} slots, bare dispatcher`,
          value: many.of((r) => r.bare.perSecond),
        },
        { name: `CPU a row, ${manySlots} slots`, value: many.of((r) => r.cpuUs), unit: 'us' },
        {
          name: `CPU a row, ${manySlots} slots, bare dispatcher`,
          value: many.of((r) => r.bare.cpuUs),
          unit: 'us',
        },
      ],
      notes: [
        `Medians of ${rounds} batches on one server, alternating with the bare dispatcher, after ${warmUps} to warm up; the number of slots is configured. Upstream in ${kind}.`,
        `Rows per second are counted from the first request to the last answer at the upstream; its maximum is ${(manySlots * 1000) / delayMs}.`,
      ],
    };
  },
};

/**
 * Runs batches with this many slots, in turns with the bare dispatcher.
 * @param flags Node flags for both
 */
async function measure(given: number, flags: string[] = []) {
  const upstream = await startUpstream();
  const data = createDataFolder();
  const offpeak = await startOffpeak(data.path, upstreamEngine(upstream.url('delay'), given), {}, { flags });
  const input = batchFile(rows, 3250);
  const bare = await startBareDispatcher(data.path, input, upstream.url('delay'), given, flags);
  try {
    const fileId = await uploadFile(offpeak, input);
    const all: Run[] = [];
    const reset = () => upstream.reset({ slots: given, delayMs });
    for (let round = 0; round < warmUps + rounds; round++) {
      await reset();
      const own = await runOnce(offpeak, upstream, fileId);
      await reset();
      all.push({ ...own, bare: await runBare(bare, upstream) });
    }
    const results = all.slice(warmUps);
    return {
      of: (figure: (run: Run) => number) => median(results.map(figure)),
      first: all[0]!,
      kind: upstream.kind,
    };
  } finally {
    await stop(bare);
    await offpeak.stop();
    await upstream.stop();
    data.remove();
  }
}

interface Throughput {
  cpuUs: number;
  perSecond: number;
}

interface Run extends Throughput {
  bare: Throughput;
  utilisation: number;
  firstSendMs: number;
  finishMs: number;
  inFlight: number;
  loopP99: number;
  peakMb: number;
}

/** Starts a dispatcher with as many requests in flight as the upstream has slots. */
async function startBareDispatcher(
  folder: string,
  input: Buffer,
  url: string,
  given: number,
  flags: string[],
): Promise<ChildProcess> {
  const path = join(folder, 'input.jsonl');
  writeFileSync(path, input);
  const file = fileURLToPath(new URL('support/bare-dispatcher.ts', import.meta.url));
  const values = [...flags, file, path, url, join(folder, 'bare.db'), `${given + given / 8}`];
  const child = start('target', process.execPath, values, { ipc: true });
  await firstLine(child);
  return child;
}

async function runBare(bare: ChildProcess, upstream: Upstream): Promise<Throughput> {
  const before = await readFigures(bare);
  await new Promise((resolve) => {
    bare.once('message', resolve);
    bare.send('run');
  });
  const after = await readFigures(bare);
  return paceOf(before, after, await upstream.stats());
}

async function runOnce(offpeak: Offpeak, upstream: Upstream, fileId: string): Promise<Omit<Run, 'bare'>> {
  const before = await offpeak.figures('reset');
  const posted = Date.now();
  const finished = await runBatch(offpeak, fileId, rows);
  const after = await offpeak.figures();
  const stats = await upstream.stats();
  return {
    ...paceOf(before, after, stats),
    utilisation: stats.utilisation,
    firstSendMs: stats.first_epoch_ms - posted,
    finishMs: finished - stats.last_epoch_ms,
    inFlight: stats.max_active + stats.max_queued,
    loopP99: after.loopP99,
    peakMb: after.peakRss / 1e6,
  };
}

function paceOf(before: Figures, after: Figures, { total, span_ms: span }: UpstreamStats): Throughput {
  if (total !== rows) throw new Error(`the upstream saw ${total} requests instead of ${rows}`);
  return { cpuUs: (after.cpuUs - before.cpuUs) / rows, perSecond: (rows / span) * 1000 };
}
