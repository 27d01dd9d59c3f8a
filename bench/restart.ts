import { fileURLToPath } from 'node:url';
import type { EngineConfig } from '../src/config.ts';
import { batchFile, multipart } from './support/batch-file.ts';
import { createDataFolder, startOffpeak, upstreamEngine } from './support/offpeak.ts';
import { loadAverage } from './support/processes.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';

const rounds = 3;
const rows = 10_000;

/** How long a server that was killed with a batch in hand takes until it answers again. */
export const restart: Workload = {
  name: 'restart',
  about: `From the start of the process until it answers, after kill -9 in the middle of a batch of ${rows} requests.`,

  async run(): Promise<Report> {
    // Nobody listens there: starting must not need the upstream.
    const absent = upstreamEngine('http://127.0.0.1:9/v1', 64);
    const model = fileURLToPath(new URL('../models/offpeak-tiny.gguf', import.meta.url));
    const embedded: EngineConfig = {
      kind: 'llama',
      path: model,
      sequences: 8,
      context: 'auto',
      threads: 'auto',
      flashAttention: false,
    };
    return {
      figures: [
        { name: 'ready with an upstream engine', value: await readyMs(absent), unit: 'ms', atMost: 1000 },
        { name: 'ready with the embedded engine', value: await readyMs(embedded), unit: 'ms', atMost: 3000 },
      ],
      notes: [`Medians of ${rounds} restarts each. Load average at the end: ${loadAverage().toFixed(1)}.`],
    };
  },
};

async function readyMs(engine: EngineConfig): Promise<number> {
  const data = createDataFolder();
  let offpeak = await startOffpeak(data.path, engine);
  try {
    const { body, contentType } = multipart(batchFile(rows, 1000));
    const { id } = await offpeak.post<{ id: string }>('/v1/files', body, contentType);
    const creation = { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id: id };
    await offpeak.post('/v1/batches', JSON.stringify(creation));
    const times = [];
    for (let round = 0; round < rounds; round++) {
      await offpeak.stop('SIGKILL');
      offpeak = await startOffpeak(data.path, engine);
      times.push(offpeak.readyMs);
    }
    return median(times);
  } finally {
    await offpeak.stop('SIGKILL');
    data.remove();
  }
}
