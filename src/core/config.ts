import type { BucketKeys } from './bucket-keys.ts';
import type { BatchEndpoint, DateForm } from './batch.ts';
import type { CardWish } from './card.ts';
import type { BatchWindows } from './batch-window.ts';
import type { Flavor, CustomTraits } from './flavor.ts';
import type { UploadPurpose } from './file.ts';
import type { Hours } from './hours.ts';
import type { QueueLimits } from './queue-limits.ts';
import type { RequestLimits } from './limits.ts';
import type { ModelInput, Serves } from './model.ts';
import type { PriceList } from './price.ts';
import type { Role } from './role.ts';
import type { Router } from './router.ts';

/** Surfaces for clients of other services (docs/surfaces.md). */
export const surfaceNames = ['openai', 'anthropic'] as const;
export type SurfaceName = (typeof surfaceNames)[number];

/** Configuration of a server, checked and complete (docs/configuration.md). Paths are absolute, durations in milliseconds. */
export interface Config {
  server: {
    host: string;
    port: number;
    /** Addresses and CIDR ranges exempt from the limit on connections per address. */
    trustedProxies: string[];
  };
  /** False to serve no console. */
  console: boolean;
  data: string;
  /** `sqlite`, or a `postgres://` URL. */
  database: string;
  postgres: {
    /** Connections of one process. */
    connections: number;
    /** False to prepare no statements under a name. */
    prepare: boolean;
  };
  files: {
    /** Accepted purposes; `batch` is always among them. */
    purposes: readonly UploadPurpose[];
    /** Maximum size of a file that is not batch input. */
    bytes: number;
    /** Object store for files; under `data` if absent. */
    bucket?: BucketConfig;
    /** Store of the other kind that files are moved from, which is read as well. */
    fallback?: { bucket?: BucketConfig };
    /** Memory for the parts of files in a bucket that are read again; 0 for none. */
    cacheBytes: number;
  };
  /** Part of the work that this process does. */
  role: Role;
  models: ModelConfig[];
  /** Folder of downloaded models. */
  modelFolder: string;
  /** Hugging Face hub for `hf:` references. */
  hub: { endpoint: string; token: string | null };
  /** Prefixes of the compatible surfaces, such as `/openai`; null for one that is closed. */
  surfaces: Record<SurfaceName, string | null>;
  limits: {
    /** Limits of one batch at `/v1`. */
    requestsPerBatch: number;
    bytesPerBatch: number;
    /** Limits of one batch at the compatible surfaces. */
    compatible: { requestsPerBatch: number; bytesPerBatch: number };
    lineBytes: number;
    openBatchesPerOrg: number;
    bodyBytes: number;
    conversationBytes: number;
    /** Bytes of all files of an org, results included, unless the org has a limit of its own. */
    storedBytes: number;
    /** Stored responses, chat completions, conversations and their items of an org, likewise. */
    storedResponses: number;
    responseBytesPerOrg: number;
    /** Bytes of each disk that only running batches use; 5 %, at most 1 GiB, if absent. */
    diskReserveBytes?: number;
    bodyBytesInFlight: number;
    connections: number;
    connectionsPerAddress: number;
    anonymousPerSecond: number;
    /** Limits on single requests of orgs and of keys that have none of their own. */
    perOrg: RequestLimits & QueueLimits;
    perKey: RequestLimits & QueueLimits;
  };
  batch: {
    /** Endpoints of new batches at `/v1`. */
    endpoints: readonly BatchEndpoint[];
    /** Endpoints of new batches at the compatible surfaces, which include those at `/v1`. */
    compatibleEndpoints: readonly BatchEndpoint[];
    windows: BatchWindows;
    resultTtlMs: number;
    /** Time after which finished batches are removed; never if absent. */
    keepMs?: number;
    /** Time that a single request at the tier `flex` has. */
    flexTimeoutMs: number;
    /** Time that a response in the background has. */
    backgroundTimeoutMs: number;
    cancelGraceMs: number;
    dates: DateForm;
    /** Lines fail after no process has served their model for this long. */
    lostModelAfterMs: number;
    /** Shares of the slots that batches get under any interactive load. */
    floor: { usual: number; atRisk: number };
    /** Factor on the time of interactive requests that batches may cause; any if absent. */
    maxSlowdown?: number;
  };
  /** True if unknown fields of requests are faults instead of warnings. */
  strictFields: boolean;
  /** Address of the Prometheus endpoint, and the maximum number of orgs with a label of their own; disabled if absent. */
  metrics?: { host: string; port: number; orgs: number };
  /** Collector of traces (OTLP over HTTP), and what it gets; disabled if absent. */
  tracing?: { endpoint: string; headers: Record<string, string>; sample: number; parentBased: boolean };
  /** Non-public addresses, CIDR ranges and hosts that webhooks may reach, and the ports of public ones. */
  egress: { allow: string[]; ports?: number[] };
  /** Time that unreferenced blobs stay in quarantine before deletion. */
  quarantineMs: number;
  /** Time after SIGTERM in which the server still accepts requests, while `/readyz` says that it stops. */
  drainDelayMs: number;
  /** Time for work in flight after that. */
  drainMs: number;
  /** Metadata member whose value is the tag of the usage. */
  usageTag: string;
  logLevel: string;
  /** Seals stored secrets; absent to store them in clear. */
  secretsKey?: string;
  /** Other keys that open stored secrets. */
  acceptedSecretsKeys: string[];
  /** Keys of the first org, if configured. */
  apiKey?: string;
  adminKey?: string;
}

/** Location of stored files for display: a folder, or `s3://bucket/prefix`. */
export function blobStoreName({
  data,
  files: { bucket },
}: Pick<Config, 'data'> & { files: { bucket?: BucketConfig } }): string {
  return bucket ? `s3://${bucket.bucket}/${bucket.prefix}`.replace(/\/$/, '') : `${data}/blobs`;
}

/** Location in an object store, and access to it. */
export interface BucketConfig {
  bucket: string;
  /** Empty, or ends in a slash. */
  prefix: string;
  endpoint: string;
  region: string;
  /** Puts the bucket name into the path of URLs instead of the host. */
  pathStyle: boolean;
  keys: BucketKeys;
}

export interface ModelConfig {
  id: string;
  aliases: string[];
  /** Null for what the engine reports. */
  serves: Serves[] | null;
  prices: PriceList;
  /** Ids of models that answer interactive requests while this one accepts none. */
  fallbacks?: string[];
  /** Hours in which batches run; unrestricted if absent. */
  hours?: Hours;
  /** True if the server fetches images by URL; image URLs are rejected otherwise. */
  imageUrls?: boolean;
  /** Fallbacks also answer batch lines after the model has accepted nothing for this long; never if absent. */
  batchFallbacksAfterMs?: number;
  engine: EngineConfig;
}

export type EngineConfig = LlamaEngineConfig | OpenAiEngineConfig | JobEngineConfig | ScriptedEngineConfig;

export interface LlamaEngineConfig {
  kind: 'llama';
  /** Path of the GGUF file, or an `hf:` reference or URL to download at start-up. */
  path: string;
  sequences: number;
  context: number | 'auto';
  threads: number | 'auto';
  flashAttention: boolean;
  /** Absent for the processor alone. */
  card?: CardWish;
}

export interface OpenAiEngineConfig {
  kind: 'openai';
  flavor: Flavor | null;
  /** Traits that override the flavor. */
  ownTraits?: CustomTraits;
  replicas: ReplicaConfig[];
  /** Router in front of each replica's servers; absent where replicas are servers. */
  router?: Router;
  /** Model name at the upstream; null for the model's id. */
  model: string | null;
  /** Accepted inputs other than text; those of the flavor if absent. */
  inputs?: ModelInput[];
  /** Request fields to forward although the flavor does not list them. */
  passThrough?: string[];
  /** Capabilities that override the flavor. */
  capabilities?: {
    jsonSchema?: 'exact' | 'native' | 'none';
    forcedTool?: 'exact' | 'native' | 'strict' | 'filter' | 'none';
    prefixCache?: 'slot' | 'shared' | 'none';
    /** Supports custom tools (free text), and enforces their grammars. */
    customTools?: boolean;
    /** Support of formats other than chat completions. */
    formats?: Partial<Record<'messages' | 'responses' | 'completions', 'native' | 'via chat' | 'no'>>;
  };
  /** Secret of the salts for prefix caches; orgs share a cache if absent. */
  cacheSalt?: string;
  /** Headers of every call; values may be secrets. */
  headers?: Record<string, string>;
  /** PEM file of the certificate authority. */
  ca?: string;
  timeouts: { connectMs: number; firstByteMs: number; idleMs: number; totalMs: number };
}

/** Server of a model. Absent fields are those of the engine. */
export interface ReplicaConfig {
  /** Base URL, including `/v1`. */
  url: string;
  apiKey: string | null;
  model?: string;
  /** A null flavor is detected. */
  kind?: Pick<OpenAiEngineConfig, 'flavor' | 'ownTraits'>;
  /** Concurrent requests; null to discover. */
  slots: number | null;
  /** Load relative to the number of slots. */
  weight: number;
  /** True to send no new requests. */
  drain: boolean;
}

/** Model that runs as jobs of a cluster (docs/engines/jobs.md). */
export interface JobEngineConfig {
  kind: 'job';
  runner: CommandRunnerConfig | RayRunnerConfig;
  /** Model name in the requests; null for the model's id. */
  model: string | null;
  flavor: Flavor;
  ownTraits?: CustomTraits;
  /** Accepted inputs other than text; those of the flavor if absent. */
  inputs?: ModelInput[];
  /** Folder that processes and jobs share; next to the stored files if absent. */
  folder?: string;
  /** Lines of one job. */
  lines: number;
  /** Jobs at a time. */
  jobs: number;
  /** Time without a new line after which a job is started with fewer lines. */
  waitMs: number;
  pollMs: number;
  /** Time after which a job is cancelled. */
  maxMs: number;
}

export interface CommandRunnerConfig {
  kind: 'command';
  command: string[];
  /** Absent where `command` runs until its job has ended. */
  status?: string[];
  cancel?: string[];
}

export interface RayRunnerConfig {
  kind: 'ray';
  address: string;
  entrypoint: string;
  /** As Ray defines it; values may be secrets. */
  runtimeEnv: Record<string, unknown>;
  /** Headers of every call; values may be secrets. */
  headers: Record<string, string>;
}

/** Deterministic answers without a model, for tests and trials. */
export interface ScriptedEngineConfig {
  kind: 'scripted';
  slots: number;
  delayMs: number;
}

/** Host and path of a server for display; omits the query, which may hold a key. */
export function serverName({ url }: ReplicaConfig): string {
  const { host, pathname } = new URL(url);
  return host + pathname.replaceAll('%7Bmodel%7D', '{model}');
}
