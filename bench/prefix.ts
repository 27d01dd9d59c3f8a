import { randomModelFile } from '../test/engines/llama/random-model.ts';
import { jsonl } from '../test/support/batch-lines.ts';
import { seeded } from '../test/engines/llama/random-json.ts';
import { createDataFolder, startOffpeak } from './support/offpeak.ts';
import type { Offpeak } from './support/offpeak.ts';
import { readTreeCpuMs } from './support/processes.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';
import { uploadFile } from './support/run-batch.ts';

const prefixes = 10;
const rows = 200;
const slots = 8;
const rounds = 3;
const prefixBytes = 1_300;

interface Usage {
  promptTokens: number;
  cachedTokens: number;
}

interface Run extends Usage {
  cpuMs: number;
  wallMs: number;
}

/** Benefit of ordering a batch by prefix, with an engine whose slots each cache one prompt. */
export const prefix: Workload = {
  name: 'prefix',
  about: `${rows} requests with ${prefixes} shared prefixes of about 1,000 tokens, shuffled, on the embedded engine with ${slots} sequences: as a batch, and in file order with the same concurrency.`,

  async run(): Promise<Report> {
    const model = randomModelFile({ seed: 7, contextLength: 2048, width: 128 });
    const batches: Run[] = [];
    const ordered: Run[] = [];
    try {
      // Each run has a new server with cold caches.
      for (let round = 0; round < rounds; round++) {
        batches.push(await onServer(model.path, asBatch));
        ordered.push(await onServer(model.path, inFileOrder));
      }
    } finally {
      model.remove();
    }
    const of = (runs: Run[], figure: (run: Run) => number) => median(runs.map(figure));
    const cached = ({ cachedTokens, promptTokens }: Run) => cachedTokens / promptTokens;
    const ratios = batches.map((run, round) => ordered[round]!.cpuMs / run.cpuMs);
    return {
      figures: [
        { name: 'prompt tokens cached, as a batch', value: of(batches, cached), atLeast: 0.9 },
        { name: 'prompt tokens cached, in file order', value: of(ordered, cached) },
        { name: 'CPU in file order by CPU as a batch', value: median(ratios), atLeast: 4 },
        { name: 'CPU as a batch', value: of(batches, (run) => run.cpuMs), unit: 'ms' },
        { name: 'CPU in file order', value: of(ordered, (run) => run.cpuMs), unit: 'ms' },
        { name: 'time as a batch', value: of(batches, (run) => run.wallMs), unit: 'ms' },
        { name: 'time in file order', value: of(ordered, (run) => run.wallMs), unit: 'ms' },
        { name: 'tokens of a prompt', value: of(batches, (run) => run.promptTokens / rows) },
      ],
      notes: [
        `Median of ${rounds} alternating rounds; CPU of the server and its engine process. A model with random weights, 4 tokens per answer.`,
      ],
    };
  },
};

async function onServer(modelPath: string, work: (offpeak: Offpeak) => Promise<Usage>): Promise<Run> {
  const data = createDataFolder();
  const engine = { kind: 'llama', path: modelPath, sequences: slots, context: 2048, threads: 1 } as const;
  const offpeak = await startOffpeak(data.path, { ...engine, flashAttention: false });
  try {
    const before = readTreeCpuMs(offpeak.child);
    const began = performance.now();
    const usage = await work(offpeak);
    return { ...usage, wallMs: performance.now() - began, cpuMs: readTreeCpuMs(offpeak.child) - before };
  } finally {
    await offpeak.stop();
    data.remove();
  }
}

async function asBatch(offpeak: Offpeak): Promise<Usage> {
  const lines = requests().map((body, n) => ({
    custom_id: `row-${n}`,
    method: 'POST',
    url: '/v1/chat/completions',
    body,
  }));
  const fileId = await uploadFile(offpeak, Buffer.from(jsonl(lines)));
  const creation = { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id: fileId };
  const { id } = await offpeak.post<Batch>('/v1/batches', JSON.stringify(creation));
  for (;;) {
    const batch = await offpeak.get<Batch>(`/v1/batches/${id}`);
    if (batch.status === 'completed') {
      if (batch.request_counts.completed !== rows)
        throw new Error(`${batch.request_counts.failed} rows failed`);
      const { input_tokens: promptTokens, input_tokens_details: details } = batch.usage;
      return { promptTokens, cachedTokens: details.cached_tokens };
    }
    if (batch.status !== 'in_progress') throw new Error(`the batch is ${batch.status}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function inFileOrder(offpeak: Offpeak): Promise<Usage> {
  const sum: Usage = { promptTokens: 0, cachedTokens: 0 };
  const left = requests().values();
  const worker = async () => {
    for (const request of left) {
      const { usage } = await offpeak.post<Completion>('/v1/chat/completions', JSON.stringify(request));
      sum.promptTokens += usage.prompt_tokens;
      sum.cachedTokens += usage.prompt_tokens_details.cached_tokens;
    }
  };
  await Promise.all(Array.from({ length: slots }, worker));
  return sum;
}

interface Batch {
  id: string;
  status: string;
  request_counts: { completed: number; failed: number };
  usage: { input_tokens: number; input_tokens_details: { cached_tokens: number } };
}

interface Completion {
  usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
}

/** Returns requests with equally frequent prefixes in a fixed random order. */
function requests(): object[] {
  const random = seeded(4);
  const sentence =
    'Weigh what the ships declare against what the cranes have lifted, and name the difference. ';
  const system = Array.from({ length: prefixes }, (_, n) =>
    `You are clerk ${n} of the harbour office. ${sentence.repeat(20)}`.slice(0, prefixBytes),
  );
  return Array.from({ length: rows }, (_, n) => ({ n, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ n }) => ({
      model: 'bench',
      messages: [
        { role: 'system', content: system[n % prefixes] },
        { role: 'user', content: `Ship ${n}?` },
      ],
      temperature: 0,
      max_tokens: 4,
    }));
}
