import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { batchFile, multipart } from './support/batch-file.ts';
import { apiKey, createDataFolder } from './support/offpeak.ts';
import { readCpuMs, start, stop } from './support/processes.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';

const rounds = 5;
const rows = 10_000;
const fileOf = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
/** Entry points of a checkout and of the built package. */
const programs = { checkout: fileOf('bin/offpeak.cjs'), package: fileOf('dist/main.js') };

/** Time until a server that was killed during a batch is ready again. */
export const restart: Workload = {
  name: 'restart',
  about: `Time from the start of \`offpeak serve\` until /readyz returns 200, after kill -9 during a batch of ${rows} requests.`,

  async run(): Promise<Report> {
    // No server listens there, because starting must not need the upstream.
    const upstream = { kind: 'openai', url: 'http://127.0.0.1:9/v1', slots: 64 };
    const remote = await restartsOf(programs.checkout, upstream);
    execFileSync(process.execPath, [fileOf('tools/build.mjs')]);
    const packaged = await restartsOf(programs.package, upstream);
    const embedded = await restartsOf(programs.checkout, {
      kind: 'llama',
      path: fileOf('models/offpeak-tiny.gguf'),
    });
    return {
      figures: [
        { name: 'ready with an upstream engine', value: remote.ms, unit: 'ms', atMost: 1000 },
        { name: 'CPU until then', value: remote.cpuMs, unit: 'ms' },
        { name: 'ready with an upstream engine, from the package', value: packaged.ms, unit: 'ms' },
        { name: 'CPU until then, from the package', value: packaged.cpuMs, unit: 'ms', atMost: 600 },
        { name: 'ready with the embedded engine', value: embedded.ms, unit: 'ms', atMost: 3000 },
        { name: 'CPU until then, without the child process', value: embedded.cpuMs, unit: 'ms' },
      ],
      notes: [`Medians of ${rounds} restarts each.`],
    };
  },
};

interface Server {
  child: ChildProcess;
  url: string;
  readyMs: number;
}

async function restartsOf(program: string, engine: object): Promise<{ ms: number; cpuMs: number }> {
  const data = createDataFolder();
  const models = [{ id: 'bench', aliases: ['bench-alias'], serves: ['chat'], engine }];
  writeFileSync(join(data.path, 'offpeak.yaml'), JSON.stringify({ models, api_key: apiKey, data: 'data' }));
  let server = await serve(program, data.path);
  try {
    await beginBatch(server.url);
    const ms: number[] = [];
    const cpu: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await stop(server.child, 'SIGKILL');
      server = await serve(program, data.path);
      ms.push(server.readyMs);
      cpu.push(readCpuMs(server.child));
    }
    return { ms: median(ms), cpuMs: median(cpu) };
  } finally {
    await stop(server.child, 'SIGKILL');
    data.remove();
  }
}

async function serve(program: string, folder: string): Promise<Server> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const began = performance.now();
  const log = join(folder, 'log');
  const flags = ['serve', '--config', join(folder, 'offpeak.yaml'), '--port', new URL(url).port];
  const child = start('target', process.execPath, [program, ...flags], { log });
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
