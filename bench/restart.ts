import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { batchFile, multipart } from './support/batch-file.ts';
import { apiKey, createDataFolder } from './support/offpeak.ts';
import { cpuMsOf, loadAverage, start, stop } from './support/processes.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';

const rounds = 5;
const rows = 10_000;
const command = fileURLToPath(new URL('../bin/offpeak.cjs', import.meta.url));

/** How long a server that was killed with a batch in hand takes until it is ready again. */
export const restart: Workload = {
  name: 'restart',
  about: `From the start of \`offpeak serve\` until /readyz says yes, after kill -9 in the middle of a batch of ${rows} requests.`,

  async run(): Promise<Report> {
    // Nobody listens there: starting must not need the upstream.
    const remote = await restartsOf({ kind: 'openai', url: 'http://127.0.0.1:9/v1', slots: 64 });
    const path = fileURLToPath(new URL('../models/offpeak-tiny.gguf', import.meta.url));
    const embedded = await restartsOf({ kind: 'llama', path });
    return {
      figures: [
        { name: 'ready with an upstream engine', value: remote.ms, unit: 'ms', atMost: 1000 },
        { name: 'CPU until then', value: remote.cpuMs, unit: 'ms' },
        { name: 'ready with the embedded engine', value: embedded.ms, unit: 'ms', atMost: 3000 },
        { name: 'CPU until then, without the child process', value: embedded.cpuMs, unit: 'ms' },
      ],
      notes: [`Medians of ${rounds} restarts each. Load average at the end: ${loadAverage().toFixed(1)}.`],
    };
  },
};

interface Server {
  child: ChildProcess;
  url: string;
  readyMs: number;
}

async function restartsOf(engine: object): Promise<{ ms: number; cpuMs: number }> {
  const data = createDataFolder();
  const models = [{ id: 'bench', aliases: ['bench-alias'], serves: ['chat'], engine }];
  // JSON is YAML.
  writeFileSync(join(data.path, 'offpeak.yaml'), JSON.stringify({ models, api_key: apiKey, data: 'data' }));
  let server = await serve(data.path);
  try {
    await beginBatch(server.url);
    const ms: number[] = [];
    const cpu: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await stop(server.child, 'SIGKILL');
      server = await serve(data.path);
      ms.push(server.readyMs);
      cpu.push(cpuMsOf(server.child));
    }
    return { ms: median(ms), cpuMs: median(cpu) };
  } finally {
    await stop(server.child, 'SIGKILL');
    data.remove();
  }
}

async function serve(folder: string): Promise<Server> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const began = performance.now();
  const log = join(folder, 'log');
  const flags = ['serve', '--config', join(folder, 'offpeak.yaml'), '--port', new URL(url).port];
  const child = start('target', process.execPath, [command, ...flags], { log });
  child.stdout?.resume();
  while (!(await isReady(url))) {
    if (child.exitCode !== null) throw new Error(`the server did not start: ${tailOf(log)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return { child, url, readyMs: performance.now() - began };
}

async function isReady(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`${url}/readyz`);
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

async function beginBatch(url: string): Promise<void> {
  const { body, contentType } = multipart(batchFile(rows, 1000));
  const { id } = await post<{ id: string }>(`${url}/v1/files`, body, contentType);
  const creation = { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id: id };
  await post(`${url}/v1/batches`, JSON.stringify(creation), 'application/json');
}

async function post<T>(url: string, body: string | Buffer, contentType: string): Promise<T> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': contentType };
  const reply = await request(url, { method: 'POST', headers, body });
  if (reply.statusCode !== 201) throw new Error(`${url}: ${reply.statusCode} ${await reply.body.text()}`);
  return (await reply.body.json()) as T;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

function tailOf(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8').slice(-2000) : '';
}
