import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { loadConfig } from '../../src/config.ts';
import type { Config, EngineConfig } from '../../src/config.ts';
import { readFigures } from './measured.ts';
import type { Figures } from './measured.ts';
import { firstLine, start, stop } from './processes.ts';
import { profileFlags } from './profile.ts';

export const apiKey = 'bench-key-0123456789abcdef0123456789abcdef';

/** Server under measurement. */
export interface Offpeak {
  url: string;
  port: number;
  child: ChildProcess;
  figures(question?: 'figures' | 'reset'): Promise<Figures>;
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: string | Buffer, contentType?: string): Promise<T>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface DataFolder {
  path: string;
  remove(): void;
}

export function createDataFolder(): DataFolder {
  const path = mkdtempSync(join(tmpdir(), 'offpeak-bench-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

const serverFile = fileURLToPath(new URL('server.ts', import.meta.url));
/** Compile cache as used by bin/offpeak.cjs: without it, the process also holds the memory of Node's compiler. */
const compileCache = fileURLToPath(new URL('../../node_modules/.cache/offpeak', import.meta.url));

/**
 * Starts a server on a data folder with a model `bench` and the defaults of `offpeak serve`.
 * @param others engines of more models, by ID; @param flags Node flags
 */
export async function startOffpeak(
  data: string,
  engine: EngineConfig,
  others: Record<string, EngineConfig> = {},
  {
    flags = [],
    nameServers = [],
    ...settings
  }: Partial<Config> & { flags?: string[]; nameServers?: string[] } = {},
): Promise<Offpeak> {
  const config = JSON.stringify({ ...configFor(data, engine, others), ...settings });
  // Default logging, captured in case it fails to start.
  const log = join(data, 'log');
  // Same flags as src/main.ts.
  const values = [
    ...profileFlags(),
    ...flags,
    '--no-allocation-site-pretenuring',
    serverFile,
    config,
    ...nameServers,
  ];
  const child = start('target', process.execPath, values, {
    ipc: true,
    log,
    env: { NODE_COMPILE_CACHE: compileCache },
  });
  const ready = await firstLine(child).catch((error: unknown) => {
    throw new Error(`the server did not start: ${readFileSync(log, 'utf8').slice(-2000)}`, { cause: error });
  });
  const { url } = JSON.parse(ready) as { url: string };
  const pool = new Pool(url, { connections: 16, headersTimeout: 0, bodyTimeout: 0 });
  const headers = { authorization: `Bearer ${apiKey}` };

  async function call<T>(
    method: 'GET' | 'POST',
    path: string,
    body?: string | Buffer,
    type?: string,
  ): Promise<T> {
    const own = type ? { ...headers, 'content-type': type } : headers;
    const reply = await pool.request({ method, path, headers: own, body: body ?? null });
    const text = await reply.body.text();
    if (reply.statusCode >= 300) throw new Error(`${method} ${path} answered ${reply.statusCode}: ${text}`);
    return JSON.parse(text) as T;
  }

  return {
    url,
    port: Number(new URL(url).port),
    child,
    figures: (question) => readFigures(child, question),
    get: (path) => call('GET', path),
    post: (path, body, type = 'application/json') => call('POST', path, body, type),
    async stop(signal) {
      await pool.destroy();
      await stop(child, signal);
    },
  };
}

/** Returns the engine of a model that these upstreams serve. */
export function upstreamEngine(
  urls: string | string[],
  slots: number | null,
  { firstByteMs = 600_000 } = {},
): EngineConfig {
  const timeouts = { connectMs: 10_000, firstByteMs, idleMs: 120_000, totalMs: 3_600_000 };
  return {
    kind: 'openai',
    flavor: null,
    replicas: [urls].flat().map((url) => ({ url, apiKey: 'upstream-key', slots, weight: 1, drain: false })),
    model: 'upstream-model',
    timeouts,
  };
}

function configFor(data: string, engine: EngineConfig, others: Record<string, EngineConfig>): Config {
  const defaults = loadConfig({ env: {}, cwd: data });
  const prices = { input: 100_000_000, cachedInput: 25_000_000, output: 400_000_000 };
  const aliases = ['bench-alias'];
  return {
    ...defaults,
    server: { ...defaults.server, port: 0 },
    data: join(data, 'data'),
    models: [
      { id: 'bench', aliases, serves: ['chat'], prices, engine },
      ...Object.entries(others).map(([id, other]) => ({
        id,
        aliases: [],
        serves: ['chat' as const],
        prices,
        engine: other,
      })),
    ],
    apiKey,
  };
}
