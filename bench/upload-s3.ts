import { realStores, startRealStore } from '../test/blobs/real-stores.ts';
import { batchFile, multipart } from './support/batch-file.ts';
import { createDataFolder, startOffpeak } from './support/offpeak.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';

const rows = 10_000;
const lineBytes = 3250;
const rounds = 15;
const warm = 3;
const [versitygw] = realStores;

interface Round {
  ms: number;
  cpuMs: number;
  /** Peak growth of resident memory in MiB. */
  growth: number;
  loopP99: number;
  loopMax: number;
}

/** Upload of a batch file into a bucket. */
export const uploadS3: Workload = {
  name: 'upload-s3',
  about: `POST /v1/files with ${rows} lines in 32 MB, validated line by line and sent in parts of 8 MiB to a bucket in versitygw on the same machine, whose answers come within milliseconds.`,

  async run(): Promise<Report> {
    const program = await versitygw!.find();
    if (typeof program !== 'string') throw new Error(`There is no versitygw: ${program.reason}.`);
    const data = createDataFolder();
    const store = await startRealStore(versitygw!, program);
    const file = batchFile(rows, lineBytes, true);
    const files = { purposes: ['batch' as const], bytes: 2 ** 30, bucket: store.bucket, cacheBytes: 0 };
    const offpeak = await startOffpeak(data.path, { kind: 'scripted', slots: 8, delayMs: 0 }, {}, { files });
    try {
      const { body, contentType } = multipart(file);
      const results: Round[] = [];
      for (let round = 0; round < warm + rounds; round++) {
        await offpeak.figures('reset');
        const before = await offpeak.figures();
        const began = performance.now();
        await offpeak.post('/v1/files', body, contentType);
        const ms = performance.now() - began;
        const { peakRss, loopP99, loopMax, cpuUs } = await offpeak.figures();
        const cpuMs = (cpuUs - before.cpuUs) / 1000;
        results.push({ ms, cpuMs, growth: (peakRss - before.rss) / 2 ** 20, loopP99, loopMax });
      }
      const measured = results.slice(warm);
      const of = (figure: (round: Round) => number) => median(measured.map(figure));
      const most = (figure: (round: Round) => number) => Math.max(...results.map(figure));
      return {
        figures: [
          { name: 'memory growth', value: of((r) => r.growth), unit: 'MiB', atMost: 64 },
          { name: 'memory growth, first upload', value: results[0]!.growth, unit: 'MiB' },
          { name: 'event loop delay, p99', value: of((r) => r.loopP99), unit: 'ms', atMost: 100 },
          { name: 'event loop delay, most of all uploads', value: most((r) => r.loopMax), unit: 'ms' },
          { name: 'time of an upload', value: of((r) => r.ms), unit: 'ms' },
          { name: 'CPU of an upload', value: of((r) => r.cpuMs), unit: 'ms' },
          { name: 'size of the file', value: file.length / 2 ** 20, unit: 'MiB' },
        ],
        notes: [`Medians of ${rounds} uploads after ${warm} to warm up.`],
      };
    } finally {
      await offpeak.stop();
      await store.stop();
      data.remove();
    }
  },
};
