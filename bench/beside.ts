import { batchFile } from './support/batch-file.ts';
import { plain, streamed } from './support/formats.ts';
import { latencies, runLoad } from './support/load.ts';
import type { Load } from './support/load.ts';
import { apiKey, createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import type { Offpeak } from './support/offpeak.ts';
import { median, percentile } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';
import { runBatch, uploadFile } from './support/run-batch.ts';
import { startUpstream } from './support/upstream.ts';

const rows = 10_000;
const slots = 64;
const delayMs = 50;
const rounds = 3;
const chatLoad = { perSecond: 60, requests: 300 };
const pollers = { count: 500, everySeconds: 2 };
const streams = 64;

/** Effect of batches on interactive clients and pollers, and the reverse. */
export const beside: Workload = {
  name: 'beside',
  about: `A batch of ${rows} requests on an upstream with ${slots} slots of ${delayMs} ms, alone and beside ${chatLoad.perSecond} chat completions per second on the same slots, ${pollers.count} clients that poll for the batch every ${pollers.everySeconds} s, or ${streams} streams of 500 events.`,

  async run(): Promise<Report> {
    const upstream = await startUpstream(500);
    const data = createDataFolder();
    const engine = upstreamEngine(upstream.url('delay'), slots);
    const streaming = upstreamEngine(upstream.url('paced'), 2 * streams);
    const offpeak = await startOffpeak(data.path, engine, { streaming });
    const { port } = offpeak;
    try {
      const fileId = await uploadFile(offpeak, batchFile(rows, 3250));

      /** Runs a batch beside other work; returns the share of slot time used from its first answers on. */
      const fillBeside = async (work: (running: Promise<unknown>) => Promise<void>): Promise<number> => {
        await upstream.reset({ slots, delayMs });
        const running = runBatch(offpeak, fileId, rows);
        const others = work(running);
        await running;
        const { utilisation } = await upstream.stats();
        await others;
        return utilisation;
      };
      const nothing = async () => {};
      await fillBeside(nothing);

      const results: Record<'ratio' | 'alone' | 'p99' | 'fill' | 'quiet' | 'polled', number>[] = [];
      for (let round = 0; round < rounds; round++) {
        await upstream.reset({ slots, delayMs });
        const alone = percentile(await latencies(plain('chat'), { port, ...chatLoad }), 99);
        let p99 = Number.NaN;
        const fill = await fillBeside(async () => {
          await underWay(offpeak);
          p99 = percentile(await latencies(plain('chat'), { port, ...chatLoad }), 99);
        });
        const quiet = await fillBeside(nothing);
        const polled = await fillBeside((running) => poll(offpeak, running));
        results.push({ ratio: p99 / alone, alone, p99, fill, quiet, polled });
      }
      await offpeak.figures('reset');
      const load = {
        ...streamed('chat'),
        body: streamed('chat').body?.replace('bench-alias', 'streaming') ?? '',
      };
      await fillBeside(async (running) => {
        await Promise.all([runLoad(load, { port, connections: streams, requests: 2 * streams }), running]);
      });
      const { peakRss } = await offpeak.figures();

      const of = (figure: (result: (typeof results)[number]) => number) => median(results.map(figure));
      return {
        figures: [
          { name: 'p99 beside a batch, against alone', value: of((r) => r.ratio), atMost: 1.25 },
          { name: 'slot time used meanwhile', value: of((r) => r.fill), atLeast: 0.88 },
          { name: 'p99 alone', value: of((r) => r.alone), unit: 'ms' },
          { name: 'p99 beside a batch', value: of((r) => r.p99), unit: 'ms' },
          {
            name: 'slot time used with pollers, against without',
            value: of((r) => r.polled / r.quiet),
            atLeast: 0.97,
          },
          { name: 'slot time used without anything beside it', value: of((r) => r.quiet) },
          { name: `most memory, with ${streams} streams`, value: peakRss / 2 ** 20, unit: 'MB', atMost: 250 },
        ],
        notes: [
          `Medians of ${rounds} rounds on one server, after one batch to warm up. Upstream in ${upstream.kind}.`,
        ],
      };
    } finally {
      await offpeak.stop();
      await upstream.stop();
      data.remove();
    }
  },
};

/** Resolves when the newest batch has a hundred results. */
async function underWay(offpeak: Offpeak): Promise<void> {
  for (;;) {
    const { data } = await offpeak.get<{ data: { request_counts: { completed: number } }[] }>(
      '/v1/batches?limit=1',
    );
    if ((data[0]?.request_counts.completed ?? 0) >= 100) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Polls for the newest batches with many clients, spread evenly over time, until `running` settles. */
async function poll(offpeak: Offpeak, running: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  void running.finally(() => over.abort());
  const load: Load = {
    method: 'GET',
    path: '/v1/batches?limit=1',
    headers: { authorization: `Bearer ${apiKey}` },
    holds: '"request_counts"',
  };
  const perSecond = pollers.count / pollers.everySeconds;
  while (!over.signal.aborted)
    await latencies(load, { port: offpeak.port, perSecond, requests: perSecond / 2 });
}
