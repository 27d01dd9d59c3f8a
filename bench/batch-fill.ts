import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { batchFile, multipart } from './support/batch-file.ts';
import { figuresOf } from './support/measured.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import type { Offpeak } from './support/offpeak.ts';
import { firstLine, loadAverage, start, stop } from './support/processes.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';
import { runBatch } from './support/run-batch.ts';
import { startUpstream } from './support/upstream.ts';
import type { Upstream } from './support/upstream.ts';

const rows = 10_000;
const slots = 64;
const delayMs = 50;
/** Batches before those that count: code gets its final form over tens of thousands of rows, also that of the bare dispatcher. */
const warm = 4;
const rounds = 3;

/** How well a batch fills the slots of its engine; the engine itself counts. */
export const batchFill: Workload = {
  name: 'batch-fill',
  about: `A batch of ${rows} requests of 3.3 kB over an upstream with ${slots} slots of ${delayMs} ms each: how much of its slot time is used, and what a row costs against a bare undici dispatcher with the same rows and group commit.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream();
    const data = createDataFolder();
    const offpeak = await startOffpeak(data.path, upstreamEngine(upstream.url('delay'), slots));
    const input = batchFile(rows, 3250);
    const bare = await startBareDispatcher(data.path, input, upstream.url('delay'));
    try {
      const { body, contentType } = multipart(input);
      const file = await offpeak.post<{ id: string }>('/v1/files', body, contentType);
      const all: Run[] = [];
      for (let round = 0; round < warm + rounds; round++)
        all.push({
          ...(await runOnce(offpeak, upstream, file.id)),
          bareUs: await runBare(bare, upstream),
        });
      const [first] = all as [Run, ...Run[]];
      const results = all.slice(warm);
      const of = (figure: (run: Run) => number) => median(results.map(figure));
      return {
        figures: [
          { name: 'slot time used', value: of((r) => r.utilisation), atLeast: 0.975 },
          { name: 'slot time used, first batch after the start', value: first.utilisation },
          {
            name: 'CPU a row, against a bare dispatcher',
            value: of((r) => r.cpuUs / r.bareUs),
            atMost: 1.5,
          },
          {
            name: 'CPU a row, against a bare dispatcher, first batch of both',
            value: first.cpuUs / first.bareUs,
          },
          { name: 'CPU a row', value: of((r) => r.cpuUs), unit: 'us' },
          { name: 'CPU a row, bare dispatcher', value: of((r) => r.bareUs), unit: 'us' },
          { name: 'first request sent after POST /v1/batches', value: of((r) => r.firstSendMs), unit: 'ms' },
          { name: 'completed after the last answer', value: of((r) => r.finishMs), unit: 'ms' },
          { name: 'most in flight at once', value: of((r) => r.inFlight) },
          { name: 'event loop delay, p99', value: of((r) => r.loopP99), unit: 'ms' },
          { name: 'most memory', value: of((r) => r.peakMb), unit: 'MB' },
        ],
        notes: [
          `Median of ${rounds} batches over one server, taking turns with the bare dispatcher, after ${warm} to warm up; the number of slots is configured. Upstream in ${upstream.kind}.`,
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

interface Run {
  bareUs: number;
  utilisation: number;
  cpuUs: number;
  firstSendMs: number;
  finishMs: number;
  inFlight: number;
  loopP99: number;
  peakMb: number;
}

/** As many in flight as the server has where it is told the slots. */
const inFlight = slots + slots / 8;

async function startBareDispatcher(folder: string, input: Buffer, url: string): Promise<ChildProcess> {
  const path = join(folder, 'input.jsonl');
  writeFileSync(path, input);
  const file = fileURLToPath(new URL('support/bare-dispatcher.ts', import.meta.url));
  const values = [file, path, url, join(folder, 'bare.db'), `${inFlight}`];
  const child = start('target', process.execPath, values, { ipc: true });
  await firstLine(child);
  return child;
}

/** @returns its CPU a row, in microseconds */
async function runBare(bare: ChildProcess, upstream: Upstream): Promise<number> {
  await upstream.reset({ slots, delayMs });
  const before = await figuresOf(bare);
  await new Promise((resolve) => {
    bare.once('message', resolve);
    bare.send('run');
  });
  const after = await figuresOf(bare);
  return (after.cpuUs - before.cpuUs) / rows;
}

async function runOnce(offpeak: Offpeak, upstream: Upstream, fileId: string): Promise<Omit<Run, 'bareUs'>> {
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
