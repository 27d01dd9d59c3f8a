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
    const remote = await restartOf(absent);
    const local = await restartOf(embedded);
    return {
      figures: [
        { name: 'ready with an upstream engine', value: remote.ms, unit: 'ms', atMost: 1000 },
        { name: 'CPU until then', value: remote.cpuMs, unit: 'ms' },
        { name: 'ready with the embedded engine', value: local.ms, unit: 'ms', atMost: 3000 },
        { name: 'CPU until then, without its child process', value: local.cpuMs, unit: 'ms' },
      ],
      notes: [`Medians of ${rounds} restarts each. Load average at the end: ${loadAverage().toFixed(1)}.`],
    };
  },
};

async function restartOf(engine: EngineConfig): Promise<{ ms: number; cpuMs: number }> {
  const data = createDataFolder();
  let offpeak = await startOffpeak(data.path, engine);
  try {
    const { body, contentType } = multipart(batchFile(rows, 1000));
    const { id } = await offpeak.post<{ id: string }>('/v1/files', body, contentType);
    const creation = { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id: id };
    await offpeak.post('/v1/batches', JSON.stringify(creation));
    const times: number[] = [];
    const cpu: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await offpeak.stop('SIGKILL');
      offpeak = await startOffpeak(data.path, engine);
      times.push(offpeak.readyMs);
      cpu.push((await offpeak.figures()).cpuUs / 1000);
    }
    return { ms: median(times), cpuMs: median(cpu) };
  } finally {
    await offpeak.stop('SIGKILL');
    data.remove();
  }
}
