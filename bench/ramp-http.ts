import { h200Loads } from '../test/support/batching-curves.ts';
import { type Line, linesOf, requestOf } from '../test/support/batching-load.ts';
import { type BatchingUpstream, startBatchingUpstream } from './support/batching-upstream.ts';
import { createDataFolder, type Offpeak, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import type { Report, Workload } from './support/report.ts';
import { runBatch, uploadFile } from './support/run-batch.ts';

/** Configured slots, and the requests in flight with their headroom. */
const fixed = [
  { slots: 28, inFlight: 32 },
  { slots: 57, inFlight: 65 },
  { slots: 113, inFlight: 128 },
];

const loads = [
  { name: '600 answers of 2 s', count: 600, tokens: 96, fixed, atLeast: 0.9 },
  { name: '300 answers of 10 s', count: 300, tokens: 400, fixed: fixed.slice(1, 2), atLeast: 0.9 },
];

/** A model with an upstream of its own; `slots` is null where they are discovered. */
interface Served {
  model: string;
  slots: number | null;
  upstream: BatchingUpstream;
}

/** Discovery of the limit of servers with continuous batching over HTTP. */
export const rampHttp: Workload = {
  name: 'ramp-http',
  about:
    'Batches of a whole Offpeak on servers with continuous batching over HTTP, at the speed of one H200: throughput with a limit to discover, relative to the best of several configured ones.',

  async run(): Promise<Report> {
    const figures: Report['figures'] = [];
    for (const load of loads) figures.push(...(await measure(load)));
    return {
      figures,
      notes: [
        `The figures of the card itself: ${h200Loads.map(({ requests, tokensPerSecond }) => `${tokensPerSecond} tokens/s with ${requests} at once`).join(', ')}.`,
        'Each limit has a server and a model of its own, and their batches run at the same time. The throughput is that from the first request to the last answer.',
      ],
    };
  },
};

async function measure({ name, count, tokens, fixed: limits, atLeast }: (typeof loads)[number]) {
  const all = await Promise.all(
    [null, ...limits.map(({ slots }) => slots)].map(async (slots): Promise<Served> => {
      return {
        model: slots === null ? 'bench' : `fixed-${slots}`,
        slots,
        upstream: await startBatchingUpstream('h200'),
      };
    }),
  );
  const [auto, ...others] = all as [Served, ...Served[]];
  const engineOf = ({ upstream, slots }: Served) => upstreamEngine(upstream.url, slots);
  const engines = Object.fromEntries(others.map((one) => [one.model, engineOf(one)]));
  const data = createDataFolder();
  const lines = linesOf(count, tokens);
  let offpeak = await startOffpeak(data.path, engineOf(auto), engines);
  try {
    const [first, ...spans] = (await Promise.all(all.map((one) => spanOf(offpeak, one, lines)))) as [
      number,
      ...number[],
    ];
    const best = Math.min(...spans);
    await offpeak.stop();
    offpeak = await startOffpeak(data.path, engineOf(auto), engines);
    const restarted = await spanOf(offpeak, auto, lines);
    const work = lines.reduce((sum, line) => sum + line.tokens, 0);
    return [
      ...spans.map((ms, at) => ({
        name: `${name}: ${limits[at]!.inFlight} at once`,
        value: (work / ms) * 1_000,
        unit: 'tokens/s',
      })),
      { name: `${name}: first batch`, value: best / first, atLeast },
      { name: `${name}: after a restart`, value: best / restarted, atLeast: 0.95 },
    ];
  } finally {
    await offpeak.stop();
    await Promise.all(all.map(({ upstream }) => upstream.stop()));
    data.remove();
  }
}

/** Milliseconds of a batch at its server. */
async function spanOf(
  offpeak: Offpeak,
  { model, upstream }: Served,
  lines: readonly Line[],
): Promise<number> {
  const rows = lines.map((line, at) =>
    JSON.stringify({
      custom_id: `row-${at}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { ...requestOf(line).value, model },
    }),
  );
  const fileId = await uploadFile(offpeak, Buffer.from(`${rows.join('\n')}\n`));
  await runBatch(offpeak, fileId, lines.length);
  return upstream.spanMs();
}
