import { batchFile, multipart } from './support/batch-file.ts';
import { createDataFolder, startOffpeak } from './support/offpeak.ts';
import { readFigures } from './support/measured.ts';
import { firstLine, start, stop } from './support/processes.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';

const rows = 10_000;
const lineBytes = 3250;
const rounds = 21;

/** Upload and validation of a batch file, relative to parsing its lines. */
export const upload: Workload = {
  name: 'upload',
  about: `POST /v1/files with ${rows} lines in 32 MB, validated line by line, compared with two processes: one receives the same form, hashes it and writes it; the other reads the file, splits it and runs JSON.parse on each line.`,

  async run(): Promise<Report> {
    const data = createDataFolder();
    const file = batchFile(rows, lineBytes, true);
    const path = join(data.path, 'input.jsonl');
    writeFileSync(path, file);
    const offpeak = await startOffpeak(data.path, { kind: 'scripted', slots: 8, delayMs: 0 });
    const parser = start(
      'target',
      process.execPath,
      [fileURLToPath(new URL('support/parse-only.ts', import.meta.url)), path],
      { ipc: true },
    );
    await firstLine(parser);
    const storer = start(
      'target',
      process.execPath,
      [fileURLToPath(new URL('support/store-only.ts', import.meta.url)), join(data.path, 'stored')],
      { ipc: true },
    );
    const { url } = JSON.parse(await firstLine(storer)) as { url: string };
    try {
      const { body, contentType } = multipart(file);
      const post = () => offpeak.post<{ id: string }>('/v1/files', body, contentType);
      const store = () => postTo(`${url}/v1/files`, body, contentType);
      const warmUps = 4;
      const results: Round[] = [];
      for (let round = 0; round < warmUps + rounds; round++) {
        const parsed = await timed(
          () => parseOnce(parser),
          () => readFigures(parser),
        );
        const stored = await timed(store, () => readFigures(storer));
        await offpeak.figures('reset');
        const before = await offpeak.figures();
        const uploaded = await timed(post, () => offpeak.figures());
        const { peakRss, loopP99, loopMax } = await offpeak.figures();
        removeBlobs(data.path);
        results.push({
          parsed,
          stored,
          uploaded,
          growth: (peakRss - before.rss) / 2 ** 20,
          loopP99,
          loopMax,
        });
      }
      const measured = results.slice(warmUps);
      const of = (figure: (round: Round) => number) => median(measured.map(figure));
      const first = results[0];
      return {
        figures: [
          {
            name: 'speed against receiving, hashing, writing and JSON.parse, by CPU',
            value: of((r) => (r.stored.cpuMs + r.parsed.cpuMs) / r.uploaded.cpuMs),
            atLeast: 0.75,
          },
          {
            name: 'speed against JSON.parse alone, by CPU',
            value: of((r) => r.parsed.cpuMs / r.uploaded.cpuMs),
          },
          {
            name: 'the same, without what receiving and storing cost',
            value: of((r) => r.parsed.cpuMs / (r.uploaded.cpuMs - r.stored.cpuMs)),
          },
          {
            name: 'speed against JSON.parse alone, by the clock',
            value: of((r) => r.parsed.ms / r.uploaded.ms),
          },
          { name: 'CPU of an upload', value: of((r) => r.uploaded.cpuMs), unit: 'ms' },
          { name: 'CPU of JSON.parse alone', value: of((r) => r.parsed.cpuMs), unit: 'ms' },
          {
            name: 'CPU of receiving, hashing and writing alone',
            value: of((r) => r.stored.cpuMs),
            unit: 'ms',
          },
          { name: 'memory growth', value: of((r) => r.growth), unit: 'MiB', atMost: 64 },
          { name: 'memory growth, first upload', value: first?.growth ?? Number.NaN, unit: 'MiB' },
          { name: 'event loop delay, p99', value: of((r) => r.loopP99), unit: 'ms', atMost: 100 },
          { name: 'event loop delay, most', value: of((r) => r.loopMax), unit: 'ms' },
          { name: 'size of the file', value: file.length / 2 ** 20, unit: 'MiB' },
        ],
        notes: [`Medians of ${rounds} alternating rounds after ${warmUps} to warm up.`],
      };
    } finally {
      await stop(parser);
      await stop(storer);
      await offpeak.stop();
      data.remove();
    }
  },
};

interface Cost {
  ms: number;
  cpuMs: number;
}

interface Round {
  parsed: Cost;
  /** The same form, received, hashed and stored without validation. */
  stored: Cost;
  uploaded: Cost;
  /** Peak growth of resident memory in MiB. */
  growth: number;
  loopP99: number;
  loopMax: number;
}

/**
 * Deletes stored files, so that their memory serves the next round: writing 32 MB to memory that a virtual machine touches
 * for the first time takes 70 ms instead of 4, and it is random which writer gets such memory.
 */
function removeBlobs(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && entry.name.startsWith('blob_')) rmSync(join(entry.parentPath, entry.name));
}

async function timed(work: () => Promise<unknown>, figures: () => Promise<{ cpuUs: number }>): Promise<Cost> {
  const before = await figures();
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  const after = await figures();
  return { ms, cpuMs: (after.cpuUs - before.cpuUs) / 1000 };
}

async function postTo(url: string, body: Buffer, contentType: string): Promise<void> {
  const reply = await request(url, { method: 'POST', headers: { 'content-type': contentType }, body });
  const text = await reply.body.text();
  if (reply.statusCode !== 200) throw new Error(`${url}: ${reply.statusCode} ${text}`);
}

function parseOnce(parser: ReturnType<typeof start>): Promise<void> {
  return new Promise((resolve) => {
    parser.once('message', () => resolve());
    parser.send('parse');
  });
}
