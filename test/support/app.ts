import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../src/app.ts';
import type { App, Overrides } from '../../src/app.ts';
import { silent } from '../../src/base/log.ts';
import { loadConfig } from '../../src/config.ts';
import type { Config, EngineConfig, ModelConfig, OpenAiEngineConfig } from '../../src/core/config.ts';
import { createApi } from './api.ts';
import type { Api } from './api.ts';
import { createDirectedEngine } from './scripted/directed-engine.ts';
import { seedKeys } from './seed-keys.ts';
import type { SeedKey } from './seed-keys.ts';

export const testPrices = { input: 100_000_000, cachedInput: 25_000_000, output: 400_000_000 };

/** Returns a model `tiny`, alias `default`, that serves every endpoint. */
export function testModel(engine: EngineConfig = { kind: 'scripted', slots: 8, delayMs: 0 }): ModelConfig {
  return { id: 'tiny', aliases: ['default'], serves: null, prices: testPrices, engine };
}

/** Returns the configuration of an upstream at `url`, which ends in `/v1`. */
export function upstreamEngine(url: string, slots = 8): OpenAiEngineConfig {
  const timeouts = { connectMs: 10_000, firstByteMs: 30_000, idleMs: 30_000, totalMs: 60_000 };
  const replicas = [{ url, apiKey: null, slots, weight: 1, drain: false }];
  // Most fakes support only chat completions.
  const capabilities = { formats: { responses: 'via chat' as const } };
  return { kind: 'openai', flavor: 'openai', replicas, model: 'real-name', capabilities, timeouts };
}

export interface AppOptions {
  models?: ModelConfig[];
  limits?: Partial<Config['limits']>;
  batch?: Partial<Config['batch']>;
  files?: Partial<Config['files']>;
  egress?: Config['egress'];
  metrics?: Config['metrics'];
  tracing?: Config['tracing'];
  role?: Config['role'];
  drainMs?: number;
  /** Secret of an admin key. */
  adminKey?: string;
  /** A `postgres://` URL; the embedded database if absent. */
  database?: string;
  /** Data folder; a temporary one if absent. */
  data?: string;
  /** Another app on the same database, whose data folder this one shares. */
  beside?: RunningApp | undefined;
  /** Keys of other orgs, or with fewer scopes, that exist from the start. */
  keys?: SeedKey[];
  overrides?: Overrides;
}

/** A whole Offpeak in this process, on a data folder that `stop` removes. */
export interface RunningApp {
  app: App;
  url: string;
  /** Key created by the first start, with every scope except `admin`. */
  key: string;
  /** Secrets of the requested keys, in the same order. */
  keys: string[];
  api: Api;
  data: string;
  stop(): Promise<void>;
}

export async function startApp(options: AppOptions = {}): Promise<RunningApp> {
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-test-'));
  const data = options.beside?.data ?? options.data ?? join(folder, 'data');
  const defaults = loadConfig({ env: {}, cwd: folder });
  const config: Config = {
    ...defaults,
    server: { ...defaults.server, port: 0 },
    data,
    ...(options.database !== undefined && { database: options.database }),
    models: options.models ?? [testModel()],
    limits: { ...defaults.limits, anonymousPerSecond: 1_000_000, ...options.limits },
    batch: { ...defaults.batch, cancelGraceMs: 200, ...options.batch },
    files: { ...defaults.files, ...options.files },
    egress: options.egress ?? defaults.egress,
    metrics: options.metrics,
    tracing: options.tracing,
    role: options.role ?? 'all',
    drainMs: options.drainMs ?? 2000,
    apiKey: 'test-key-0123456789-abcdefghijklmnop',
    ...(options.adminKey !== undefined && { adminKey: options.adminKey }),
    logLevel: 'silent',
  };
  const keys = await seedKeys(data, options.keys ?? []);
  const app = await createApp(config, {
    log: silent,
    scripted: createDirectedEngine,
    ...options.overrides,
  });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    await app.start();
  } catch (error) {
    remove();
    throw error;
  }
  const key = config.apiKey!;
  return {
    app,
    url: app.url,
    key,
    keys,
    api: createApi(app.url, key),
    data,
    async stop() {
      await app.stop();
      remove();
    },
  };
}
