import type { BatchEndpoint, DateForm } from './batch.ts';
import type { Flavor, CustomTraits } from './flavor.ts';
import type { UploadPurpose } from './file.ts';
import type { Hours } from './hours.ts';
import type { ModelInput, Serves } from './model.ts';
import type { Prices } from './price.ts';

/** Everything a server is told, checked and complete (docs/configuration.md). Paths are absolute, spans milliseconds. */
export interface Config {
  server: {
    host: string;
    port: number;
    /** Addresses and ranges (base/addresses.ts) whose connections are not counted one by one. */
    trustedProxies: string[];
  };
  /** The data folder. */
  data: string;
  /** `sqlite`, or a `postgres://` URL. */
  database: string;
  files: {
    /** What files are taken for; `batch` among them. */
    purposes: readonly UploadPurpose[];
    /** The largest that is not for a batch. */
    bytes: number;
    /** Where they are kept; under `data` if absent. */
    bucket?: BucketConfig;
  };
  models: ModelConfig[];
  /** Where fetched models stand. */
  modelFolder: string;
  /** Where `hf:` references are fetched from, and with what right. */
  hub: { endpoint: string; token: string | null };
  limits: {
    requestsPerBatch: number;
    bytesPerBatch: number;
    lineBytes: number;
    openBatchesPerOrg: number;
    bodyBytes: number;
    conversationBytes: number;
    responseBytesPerOrg: number;
    bodyBytesInFlight: number;
    connections: number;
    connectionsPerAddress: number;
  };
  batch: {
    /** Those that new batches may target. */
    endpoints: readonly BatchEndpoint[];
    priceFactor: number;
    resultTtlMs: number;
    completionWindowMs: number;
    cancelGraceMs: number;
    dates: DateForm;
    /** A model that no process has served for so long is lost to the lines that name it. */
    lostModelAfterMs: number;
  };
  /** Where monitoring reads what is counted; nowhere if absent. */
  metrics?: { host: string; port: number };
  /** Addresses, ranges and hosts that webhooks may reach though they are not public (events/egress.ts). */
  egress: { allow: string[] };
  /** How long stored content that no file names is kept aside before it is removed. */
  quarantineMs: number;
  /** How long work in flight may go on after SIGTERM. */
  drainMs: number;
  logLevel: string;
  /** Keys of the first org, when set from outside. */
  apiKey?: string;
  adminKey?: string;
}

/** Where files are kept, as an operator knows it: a folder, or a place in a bucket. */
export function blobStoreName({ data, files: { bucket } }: Config): string {
  return bucket ? `s3://${bucket.bucket}/${bucket.prefix}`.replace(/\/$/, '') : `${data}/blobs`;
}

/** A place in an object store. */
export interface BucketConfig {
  bucket: string;
  /** Empty, or ends in a slash. */
  prefix: string;
  endpoint: string;
  region: string;
  /** Whether the bucket stands in the path of a URL, not in the host. */
  pathStyle: boolean;
  accessKey: string;
  secretKey: string;
  sessionToken: string | undefined;
}

export interface ModelConfig {
  id: string;
  aliases: string[];
  /** Null: what the engine says. */
  serves: Serves[] | null;
  prices: Prices;
  /** Ids of models that answer single requests in its place where it takes nothing; none if absent. */
  fallbacks?: string[];
  /** When its batches run; at any time if absent. */
  hours?: Hours;
  /** Its server fetches images that a request names by an address; none is accepted if absent. */
  imageUrls?: boolean;
  /** They answer lines of batches, too, once it has taken nothing for so long; never if absent. */
  batchFallbacksAfterMs?: number;
  engine: EngineConfig;
}

export type EngineConfig = LlamaEngineConfig | OpenAiEngineConfig | ScriptedEngineConfig;

export interface LlamaEngineConfig {
  kind: 'llama';
  /** Of the GGUF file; or a reference, `hf:` or a URL, of one that is fetched at the start (core/model-source.ts). */
  path: string;
  sequences: number;
  context: number | 'auto';
  threads: number | 'auto';
  flashAttention: boolean;
}

export interface OpenAiEngineConfig {
  kind: 'openai';
  flavor: Flavor | null;
  /** What is configured over its flavor. */
  ownTraits?: CustomTraits;
  /** The servers that have the model; at least one. */
  replicas: ReplicaConfig[];
  /** The upstream's name of the model; null for the model's id. */
  model: string | null;
  /** What the model takes beside text; what servers of its flavor may take if absent. */
  inputs?: ModelInput[];
  /** Members of requests that go on to the server though its flavor does not name them; none if absent. */
  passThrough?: string[];
  /** What is known better than by its flavor. */
  capabilities?: {
    jsonSchema?: 'exact' | 'native' | 'none';
    forcedTool?: 'exact' | 'native' | 'strict' | 'filter' | 'none';
    prefixCache?: 'slot' | 'shared' | 'none';
    /** Whether it takes tools with free text, and holds their grammars. */
    customTools?: boolean;
    /** How it is asked in other formats than chat completions. */
    formats?: Partial<Record<'messages' | 'responses' | 'completions', 'native' | 'via chat' | 'no'>>;
  };
  /** Sent with every call; their values may be secrets. */
  headers?: Record<string, string>;
  /** The file of who signs its certificate, as PEM. */
  ca?: string;
  timeouts: { connectMs: number; firstByteMs: number; idleMs: number; totalMs: number };
}

/** One of the servers of a model. */
export interface ReplicaConfig {
  /** The base URL, `/v1` included. */
  url: string;
  apiKey: string | null;
  /** Its own name of the model; that of the engine if absent. */
  model?: string;
  /** Its own kind; that of the engine if absent. Null to be found out. */
  kind?: Pick<OpenAiEngineConfig, 'flavor' | 'ownTraits'>;
  /** Requests it works on at once; null where that is to be found out. */
  slots: number | null;
  /** How much more or less than its slots say it gets. */
  weight: number;
  /** It gets nothing new. */
  drain: boolean;
}

/** Deterministic answers without a model, for tests and for trying things out. */
export interface ScriptedEngineConfig {
  kind: 'scripted';
  slots: number;
  delayMs: number;
}

/** Where a server is, as operators are told: nothing of its query, where a key may stand. */
export function serverName({ url }: ReplicaConfig): string {
  const { host, pathname } = new URL(url);
  return host + pathname.replaceAll('%7Bmodel%7D', '{model}');
}
