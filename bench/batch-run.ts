import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { batchFile } from './support/batch-file.ts';
import { apiKey, createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { start, stop } from './support/processes.ts';
import type { Report, Workload } from './support/report.ts';
import { runBatch, uploadFile } from './support/run-batch.ts';
import { startUpstream } from './support/upstream.ts';

const rows = 50_000;
const rowsOfOne = 10_000;
const slots = 64;
const delayMs = 50;
const command = fileURLToPath(new URL('../bin/offpeak.cjs', import.meta.url));

/** Slot utilization of a file that becomes several batches, and the memory of the command. */
export const batchRun: Workload = {
  name: 'batch-run',
  about: `\`offpeak batch run\` of ${rows} requests of 1.6 kB, as five batches, on an upstream with ${slots} slots of ${delayMs} ms, compared with one batch of ${rowsOfOne}.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream();
    const data = createDataFolder();
    const offpeak = await startOffpeak(data.path, upstreamEngine(upstream.url('delay'), slots));
    try {
      const fileId = await uploadFile(offpeak, batchFile(rowsOfOne, 1600));
      await upstream.reset({ slots, delayMs });
      await runBatch(offpeak, fileId, rowsOfOne);
      const alone = await upstream.stats();
      const input = join(data.path, 'in.jsonl');
      writeFileSync(input, batchFile(rows, 1600));
      await upstream.reset({ slots, delayMs });
      const peakMb = await runCommand(offpeak.url, input);
      const split = await upstream.stats();
      if (split.total !== rows)
        throw new Error(`the upstream saw ${split.total} requests instead of ${rows}`);
      const share = split.utilisation / alone.utilisation;
      return {
        figures: [
          { name: 'slot time used, against one batch', value: share, atLeast: 0.95 },
          { name: 'slot time used', value: split.utilisation },
          { name: 'most memory of the command', value: peakMb, unit: 'MB', atMost: 150 },
        ],
        notes: [`One run. Upstream in ${upstream.kind}.`],
      };
    } finally {
      await offpeak.stop();
      await upstream.stop();
      data.remove();
    }
  },
};

/** Returns the peak memory of the command in MB. */
async function runCommand(url: string, input: string): Promise<number> {
  const output = input.replace('in.jsonl', 'out.jsonl');
  const flags = ['batch', 'run', input, '-o', output, '--url', url, '--key', apiKey];
  const log = join(input, '../run.log');
  const child = start('rest', process.execPath, [command, ...flags], { log });
  child.stdout?.resume();
  let peak = 0;
  const watch = setInterval(() => (peak = Math.max(peak, peakOf(child.pid))), 100);
  try {
    const [code] = await once(child, 'exit');
    if (code !== 0)
      throw new Error(`batch run ended with ${code}: ${readFileSync(log, 'utf8').slice(-2000)}`);
    return peak;
  } finally {
    clearInterval(watch);
    await stop(child, 'SIGKILL');
  }
}

/** Peak memory as recorded by Linux; 0 if the process has ended, or on other systems. */
function peakOf(pid: number | undefined): number {
  try {
    const [, kib] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return (Number(kib ?? 0) * 1024) / 1e6;
  } catch {
    return 0;
  }
}
