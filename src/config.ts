import { readFileSync, existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isAddressRange } from './base/addresses.ts';
import { createChecker, formatProblem } from './base/located.ts';
import type { Checker, Located, Problem } from './base/located.ts';
import { parseLocatedYaml } from './base/located-yaml.ts';
import { isLoopback } from './base/loopback.ts';
import { nearestWord } from './base/nearest-word.ts';
import { flavors } from './core/flavor.ts';
import { modelInputs } from './core/model.ts';
import { isTrusted, readModelSource } from './core/model-source.ts';
import { nanoDollars } from './core/price.ts';
import type { Prices } from './core/price.ts';
import type {
  Config,
  EngineConfig,
  LlamaEngineConfig,
  ModelConfig,
  OpenAiEngineConfig,
  ReplicaConfig,
} from './core/config.ts';

export type { Config, EngineConfig } from './core/config.ts';

export interface ConfigSources {
  /** Values of command line flags, each under its name: `{ port: '8080' }`. */
  flags?: Partial<Record<'host' | 'port' | 'data' | 'config' | 'database' | 'logLevel', string>>;
  env?: Record<string, string | undefined>;
  /** Where relative paths start. */
  cwd?: string;
  readFile?: (path: string) => string;
  exists?: (path: string) => boolean;
}

/** A configuration that cannot be used: every problem at once, each with its place. */
export class ConfigError extends Error {
  readonly problems: Problem[];

  constructor(problems: Problem[]) {
    super(problems.map(formatProblem).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/** The keys of the file, for its check and for the test that holds docs/configuration.md to it. */
export const configKeys = {
  root: [
    'server',
    'data',
    'database',
    'files',
    'models',
    'model_folder',
    'hub',
    'limits',
    'batch',
    'quarantine',
    'drain',
    'log_level',
    'api_key',
    'admin_key',
  ],
  server: ['host', 'port', 'trusted_proxies'],
  hub: ['endpoint', 'token'],
  model: ['id', 'aliases', 'serves', 'price', 'fallbacks', 'engine'],
  price: ['input', 'cached_input', 'output'],
  llama: ['kind', 'path', 'sequences', 'context', 'threads', 'flash_attention'],
  openai: [
    'kind',
    'flavor',
    'url',
    'urls',
    'model',
    'api_key',
    'headers',
    'ca',
    'inputs',
    'capabilities',
    'pass_through',
    'slots',
    'timeouts',
  ],
  capabilities: ['json_schema', 'forced_tool', 'prefix_cache', 'messages'],
  urls: ['url', 'slots', 'api_key', 'weight', 'drain'],
  scripted: ['kind', 'slots', 'delay'],
  timeouts: ['connect', 'first_byte', 'idle', 'total'],
  limits: [
    'requests_per_batch',
    'bytes_per_batch',
    'line_bytes',
    'open_batches_per_org',
    'body_bytes',
    'conversation_bytes',
    'response_bytes_per_org',
    'body_bytes_in_flight',
    'connections',
    'connections_per_address',
  ],
  batch: ['price_factor', 'result_ttl', 'completion_window', 'cancel_grace'],
} as const;

/** The variables that set a value of the file, and what they set. */
export const environmentKeys = {
  OFFPEAK_HOST: 'server.host',
  OFFPEAK_PORT: 'server.port',
  OFFPEAK_DATA: 'data',
  OFFPEAK_DATABASE: 'database',
  OFFPEAK_MODEL_FOLDER: 'model_folder',
  OFFPEAK_HF_ENDPOINT: 'hub.endpoint',
  OFFPEAK_HF_TOKEN: 'hub.token',
  OFFPEAK_LOG_LEVEL: 'log_level',
  OFFPEAK_API_KEY: 'api_key',
  OFFPEAK_ADMIN_KEY: 'admin_key',
} as const;

/** The environment of this process. No other file looks at it. */
export const environment: Record<string, string | undefined> = process.env;

const packageFolder = fileURLToPath(new URL('..', import.meta.url));
const defaultFile = 'offpeak.yaml';
const minKeyLength = 32;

/** Where values of the configuration were written: those of servers are judged long after they were read. */
const places = new WeakMap<object, Partial<Record<string, Located>>>();

/** Where `key` of an engine or one of its servers was written; undefined where it was not. */
export function placeOf(
  of: EngineConfig | ReplicaConfig,
  key: string,
): Pick<Located, 'file' | 'line' | 'path'> | undefined {
  return places.get(of)?.[key];
}

function placed<T extends object>(value: T, fields: Partial<Record<string, Located>>): T {
  places.set(value, fields);
  return value;
}

interface Reading {
  check: Checker;
  /** Where relative paths of the value at hand start. */
  cwd: string;
  /** The folder of the configuration file. */
  base: string;
  exists: (path: string) => boolean;
}

/**
 * The configuration: flags over environment over file over defaults.
 * @throws ConfigError with every problem found
 */
export function loadConfig(sources: ConfigSources = {}): Config {
  const { flags = {}, env = environment, cwd = process.cwd(), exists = existsSync } = sources;
  const readFile = sources.readFile ?? ((path: string) => readFileSync(path, 'utf8'));
  const check = createChecker();
  const named = flags.config ?? presence(env.OFFPEAK_CONFIG);
  const path = resolve(cwd, named ?? defaultFile);
  const root = named !== undefined || exists(path) ? readRoot(path, { env, readFile, check }) : undefined;
  const reading: Reading = { check, cwd, base: dirname(path), exists };
  const file = check.object(root, configKeys.root);
  const server = check.object(file.server, configKeys.server);
  const variable = (name: keyof typeof environmentKeys, inFile: Located | undefined) =>
    outside(name, env[name]) ?? inFile;
  const outer = (flag: keyof typeof flags, name: keyof typeof environmentKeys, inFile: Located | undefined) =>
    outside(`--${kebab(flag)}`, flags[flag]) ?? variable(name, inFile);

  const data = folder(outer('data', 'OFFPEAK_DATA', file.data), reading) ?? resolve(cwd, 'offpeak-data');
  const hub = check.object(file.hub, configKeys.hub);
  const config: Config = {
    server: {
      host: check.text(outer('host', 'OFFPEAK_HOST', server.host)) ?? '127.0.0.1',
      port: check.whole(outer('port', 'OFFPEAK_PORT', server.port), { min: 0, max: 65_535 }) ?? 8080,
      trustedProxies: addresses(server.trusted_proxies, check),
    },
    data,
    database: database(outer('database', 'OFFPEAK_DATABASE', file.database), check),
    files: check.choice(file.files, ['disk'] as const) ?? 'disk',
    models: file.models === undefined ? [builtInModel(reading)] : models(file.models, reading),
    modelFolder: folder(variable('OFFPEAK_MODEL_FOLDER', file.model_folder), reading) ?? join(data, 'models'),
    hub: {
      endpoint: hubEndpoint(variable('OFFPEAK_HF_ENDPOINT', hub.endpoint), check),
      token: hubToken(variable('OFFPEAK_HF_TOKEN', hub.token), check),
    },
    limits: limits(file.limits, check),
    batch: batch(file.batch, check),
    quarantineMs: check.duration(file.quarantine) ?? 7 * 86_400_000,
    drainMs: check.duration(file.drain) ?? 25_000,
    logLevel: check.choice(outer('logLevel', 'OFFPEAK_LOG_LEVEL', file.log_level), logLevels) ?? 'info',
  };
  const open = !isLoopback(config.server.host);
  const apiKeyAt = variable('OFFPEAK_API_KEY', file.api_key);
  const adminKeyAt = variable('OFFPEAK_ADMIN_KEY', file.admin_key);
  const apiKey = secret(apiKeyAt, open, check);
  const adminKey = secret(adminKeyAt, open, check);
  if (apiKey !== undefined) config.apiKey = apiKey;
  if (adminKey !== undefined) config.adminKey = adminKey;
  if (adminKeyAt !== undefined && adminKey !== undefined && apiKey === adminKey)
    check.fail(adminKeyAt, 'must differ from the API key');
  if (check.problems.length > 0) throw new ConfigError(check.problems);
  return config;
}

/** What the client commands take from outside: flags over environment over the defaults of a local server. */
export function clientSettings(
  flags: { url?: string | undefined; key?: string | undefined },
  env: Record<string, string | undefined> = environment,
): { url: string; key: string | undefined; adminKey: string | undefined } {
  return {
    url: flags.url ?? presence(env.OFFPEAK_URL) ?? 'http://127.0.0.1:8080',
    key: flags.key ?? presence(env.OFFPEAK_API_KEY),
    adminKey: flags.key ?? presence(env.OFFPEAK_ADMIN_KEY),
  };
}

function readRoot(
  path: string,
  from: { env: Record<string, string | undefined>; readFile: (path: string) => string; check: Checker },
): Located | undefined {
  const lookup = (name: string) => {
    if (!name.startsWith('file:')) return from.env[name];
    try {
      return from.readFile(resolve(dirname(path), name.slice(5))).trim();
    } catch {
      return undefined;
    }
  };
  let text: string;
  try {
    text = from.readFile(path);
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    const hint = reason === 'ENOENT' ? 'There is no such file.' : `The system says ${reason}.`;
    from.check.problems.push({
      file: path,
      line: null,
      message: 'the configuration file cannot be read',
      hint,
    });
    return undefined;
  }
  const root = parseLocatedYaml(text, path, lookup, from.check);
  return root?.value === null ? undefined : root;
}

/** From outside it starts where the command runs, in the file beside the file. */
function folder(at: Located | undefined, reading: Reading): string | undefined {
  const found = reading.check.text(at);
  return found === undefined ? undefined : resolve(at?.line === null ? reading.cwd : reading.base, found);
}

function addresses(at: Located | undefined, check: Checker): string[] {
  return (check.list(at) ?? []).flatMap((item) => {
    const found = check.text(item);
    if (found === undefined || isAddressRange(found)) return found ?? [];
    return (
      check.fail(item, 'must be an address or a range of them', 'For example 10.0.0.5 or 10.0.0.0/8') ?? []
    );
  });
}

function hubEndpoint(at: Located | undefined, check: Checker): string {
  const found = check.url(at);
  if (at !== undefined && found !== undefined && !isTrusted(new URL(found)))
    check.fail(at, 'must be an https:// URL', 'Plain http:// is for this machine alone.');
  return found ?? 'https://huggingface.co';
}

function hubToken(at: Located | undefined, check: Checker): string | null {
  const found = check.text(at);
  if (at !== undefined && found !== undefined && !/^[\x21-\x7e]+$/.test(found))
    check.fail(at, 'must be printable characters without spaces');
  return found ?? null;
}

function database(at: Located | undefined, check: Checker): string {
  const found = check.text(at);
  if (at === undefined || found === undefined || found === 'sqlite') return 'sqlite';
  const protocol = URL.canParse(found) ? new URL(found).protocol : '';
  if (protocol !== 'postgres:' && protocol !== 'postgresql:')
    check.fail(at, 'must be sqlite or a postgres:// URL', 'Write sqlite, or postgres://user@host/name.');
  return found;
}

function builtInModel({ check, exists }: Reading): ModelConfig {
  const path = join(packageFolder, 'models/offpeak-tiny.gguf');
  if (!exists(path))
    check.problems.push({
      file: path,
      line: null,
      message: 'the built-in model is missing',
      hint: 'Install Offpeak again.',
    });
  return {
    id: 'offpeak-tiny',
    aliases: ['default', 'tiny'],
    serves: null,
    prices: { input: nanoDollars(0.1), cachedInput: nanoDollars(0.025), output: nanoDollars(0.4) },
    engine: { kind: 'llama', path, sequences: 8, context: 'auto', threads: 'auto', flashAttention: false },
  };
}

function models(at: Located, reading: Reading): ModelConfig[] {
  const { check } = reading;
  const items = check.list(at) ?? [];
  if (items.length === 0 && Array.isArray(at.value)) check.fail(at, 'must name at least one model');
  const taken = new Map<string, string>();
  const named: NamedFallback[] = [];
  const found = items.flatMap((item) => {
    const fields = check.object(item, configKeys.model);
    const id = uniqueName(fields.id, taken, check);
    if (fields.id === undefined) check.fail(item, 'needs an id');
    const aliases = (check.list(fields.aliases) ?? []).flatMap(
      (alias) => uniqueName(alias, taken, check) ?? [],
    );
    const serves = check
      .list(fields.serves)
      ?.flatMap((kind) => check.choice(kind, ['chat', 'embeddings'] as const) ?? []);
    const engine = engineOf(item, fields.engine, reading);
    if (id === undefined || engine === undefined) return [];
    const model: ModelConfig = {
      id,
      aliases,
      serves: serves ?? null,
      prices: prices(fields.price, check),
      engine,
    };
    for (const name of check.list(fields.fallbacks) ?? []) named.push({ name, model });
    return [model];
  });
  setFallbacks(named, found, check);
  return found;
}

interface NamedFallback {
  name: Located;
  model: ModelConfig;
}

/** Which models the names stand for is known when all have been read. */
function setFallbacks(named: readonly NamedFallback[], all: readonly ModelConfig[], check: Checker): void {
  for (const { name: at, model } of named) {
    const name = check.text(at);
    if (name === undefined) continue;
    const other = all.find(({ id, aliases }) => id === name || aliases.includes(name));
    const others = all.filter((each) => each !== model).flatMap(({ id, aliases }) => [id, ...aliases]);
    const nearest = nearestWord(name, others);
    if (!other) check.fail(at, `there is no model '${name}'`, nearest && `Did you mean '${nearest}'?`);
    else if (other === model) check.fail(at, 'is the model itself', 'Name another one.');
    else model.fallbacks = [...(model.fallbacks ?? []), other.id];
  }
}

/** An id or alias that no other model has. */
function uniqueName(at: Located | undefined, taken: Map<string, string>, check: Checker): string | undefined {
  const found = check.text(at);
  if (at === undefined || found === undefined) return undefined;
  if (!/^[\w./:@+-]{1,200}$/.test(found))
    return check.fail(at, 'must be 1 to 200 letters, digits or . / : @ + - _', 'Spaces are not allowed.');
  const before = taken.get(found);
  if (before !== undefined)
    return check.fail(at, `'${found}' is taken already by ${before}`, 'Ids and aliases are unique.');
  taken.set(found, at.path);
  return found;
}

function prices(at: Located | undefined, check: Checker): Prices {
  const fields = check.object(at, configKeys.price);
  const price = (field: Located | undefined) => check.number(field, { min: 0, max: 100_000 });
  const input = price(fields.input) ?? 0;
  return {
    input: nanoDollars(input),
    cachedInput: nanoDollars(price(fields.cached_input) ?? input),
    output: nanoDollars(price(fields.output) ?? 0),
  };
}

function engineOf(model: Located, at: Located | undefined, reading: Reading): EngineConfig | undefined {
  const { check } = reading;
  if (at === undefined)
    return check.fail(model, 'needs an engine', 'For example: engine: { kind: llama, path: model.gguf }');
  if (!(at.value instanceof Map)) return check.fail(at, 'expected an object with a kind');
  const kindAt = at.value.get('kind');
  if (kindAt === undefined) return check.fail(at, 'needs a kind', 'One of llama, openai, scripted.');
  const kind = check.choice(kindAt, ['llama', 'openai', 'scripted'] as const);
  if (kind === 'llama') return llamaEngine(at, reading);
  if (kind === 'openai') return openAiEngine(at, reading);
  if (kind === undefined) return undefined;
  const fields = check.object(at, configKeys.scripted);
  return {
    kind,
    slots: check.whole(fields.slots, { min: 1, max: 4096 }) ?? 8,
    delayMs: check.duration(fields.delay) ?? 0,
  };
}

function llamaEngine(at: Located, reading: Reading): LlamaEngineConfig | undefined {
  const { check } = reading;
  const fields = check.object(at, configKeys.llama);
  if (fields.path === undefined) return check.fail(at, 'needs the path of a GGUF file');
  const auto = (field: Located | undefined, max: number) =>
    field?.value === 'auto' ? 'auto' : (check.whole(field, { min: 1, max }) ?? 'auto');
  return {
    kind: 'llama',
    path: modelPath(fields.path, reading) ?? '',
    sequences: check.whole(fields.sequences, { min: 1, max: 256 }) ?? 8,
    context: auto(fields.context, 16_777_216),
    threads: auto(fields.threads, 1024),
    flashAttention: check.flag(fields.flash_attention) ?? false,
  };
}

/** The file, or the reference of one that is fetched at the start. */
function modelPath(at: Located, { check, base, exists }: Reading): string | undefined {
  const written = check.text(at);
  if (written === undefined) return undefined;
  const source = readModelSource(written);
  if (source.kind === 'wrong') return check.fail(at, source.problem, source.hint);
  if (source.kind !== 'path') return written;
  // The built-in model is named as the package knows it, whatever folder the file is in.
  const found = [resolve(base, written), resolve(packageFolder, written)].find((path) => exists(path));
  const hint = "Relative paths start at this file's folder.";
  return found ?? check.fail(at, `there is no file ${resolve(base, written)}`, hint);
}

function openAiEngine(at: Located, reading: Reading): OpenAiEngineConfig | undefined {
  const { check } = reading;
  const fields = check.object(at, configKeys.openai);
  const urls = fields.url !== undefined ? [fields.url] : (check.list(fields.urls) ?? []);
  if (fields.url !== undefined && fields.urls !== undefined)
    check.fail(fields.urls, 'give url or urls, not both');
  if (urls.length === 0)
    return check.fail(fields.urls ?? at, 'needs a url', 'For example http://127.0.0.1:8000/v1');
  const shared = { apiKey: check.text(fields.api_key) ?? null, slots: slots(fields.slots, check) };
  const timeouts = check.object(fields.timeouts, configKeys.timeouts);
  // An empty list is an answer: text alone.
  const inputs = check.list(fields.inputs)?.flatMap((item) => check.choice(item, modelInputs) ?? []);
  const passThrough = check.list(fields.pass_through)?.flatMap((item) => fieldName(item, check) ?? []);
  const engine: OpenAiEngineConfig = {
    kind: 'openai',
    flavor: check.choice(fields.flavor, flavors) ?? null,
    replicas: urls.map((each) => replica(each, shared, check)),
    model: check.text(fields.model) ?? null,
    ...(inputs && { inputs }),
    ...(passThrough && { passThrough }),
    ...(fields.capabilities && { capabilities: capabilities(fields.capabilities, check) }),
    ...(fields.headers && { headers: headers(fields.headers, check) }),
    ...(fields.ca && { ca: fileThere(fields.ca, reading) ?? '' }),
    timeouts: {
      connectMs: check.duration(timeouts.connect) ?? 5000,
      firstByteMs: check.duration(timeouts.first_byte) ?? 3_600_000,
      idleMs: check.duration(timeouts.idle) ?? 120_000,
      totalMs: check.duration(timeouts.total) ?? 7_200_000,
    },
  };
  return placed(engine, { '': at, ...fields });
}

function capabilities(at: Located, check: Checker): NonNullable<OpenAiEngineConfig['capabilities']> {
  const fields = check.object(at, configKeys.capabilities);
  const jsonSchema = check.choice(fields.json_schema, ['exact', 'native', 'none'] as const);
  const forcedTool = check.choice(fields.forced_tool, ['exact', 'native', 'filter', 'none'] as const);
  const prefixCache = check.choice(fields.prefix_cache, ['slot', 'shared', 'none'] as const);
  const messages = check.choice(fields.messages, ['native', 'chat'] as const);
  return {
    ...(jsonSchema && { jsonSchema }),
    ...(forcedTool && { forcedTool }),
    ...(prefixCache && { prefixCache }),
    ...(messages && { native: messages === 'native' ? ['messages' as const] : [] }),
  };
}

/** What HTTP itself says of a message is not for a configuration. */
const reserved = /^(?:host|connection|content-.*|transfer-encoding|keep-alive|upgrade|te|trailer|expect)$/;

function headers(at: Located, check: Checker): Record<string, string> {
  if (!(at.value instanceof Map)) {
    check.fail(at, 'expected an object of names and texts', 'For example headers: { x-team: offpeak }');
    return {};
  }
  const found: Record<string, string> = {};
  for (const [name, field] of at.value) {
    const text = check.text(field);
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || reserved.test(name.toLowerCase()))
      check.fail(field, 'is not a header that can be set');
    else if (text !== undefined && !/^[\x20-\x7e]*$/.test(text))
      check.fail(field, 'must be printable characters');
    else if (text !== undefined) found[name.toLowerCase()] = text;
  }
  return found;
}

/** A file that is there, as a path from everywhere. */
function fileThere(at: Located, { check, base, exists }: Reading): string | undefined {
  const written = check.text(at);
  if (written === undefined) return undefined;
  const path = resolve(base, written);
  const hint = "Relative paths start at this file's folder.";
  return exists(path) ? path : check.fail(at, `there is no file ${path}`, hint);
}

/** The name of a member of requests. */
function fieldName(at: Located, check: Checker): string | undefined {
  const found = check.text(at);
  if (found === undefined || /^[A-Za-z_][\w-]{0,63}$/.test(found)) return found;
  return check.fail(at, 'must be the name of a field of requests', 'For example service_tier.');
}

/** Null: to be found out. */
function slots(at: Located | undefined, check: Checker): number | null {
  return at?.value === 'auto' ? null : (check.whole(at, { min: 1, max: 65_536 }) ?? null);
}

/** A URL alone, or one with what differs from the other servers. */
function replica(
  at: Located,
  shared: Pick<ReplicaConfig, 'apiKey' | 'slots'>,
  check: Checker,
): ReplicaConfig {
  if (!(at.value instanceof Map))
    return placed({ ...shared, url: check.url(at) ?? '', weight: 1, drain: false }, { url: at });
  const fields = check.object(at, configKeys.urls);
  if (fields.url === undefined) check.fail(at, 'needs a url');
  const found = {
    url: check.url(fields.url) ?? '',
    apiKey: check.text(fields.api_key) ?? shared.apiKey,
    slots: fields.slots === undefined ? shared.slots : slots(fields.slots, check),
    weight: check.number(fields.weight, { min: 0.01, max: 100 }) ?? 1,
    drain: check.flag(fields.drain) ?? false,
  };
  return placed(found, fields);
}

function limits(at: Located | undefined, check: Checker): Config['limits'] {
  const fields = check.object(at, configKeys.limits);
  const atLeastOne = { min: 1 };
  const bodyBytes = check.whole(fields.body_bytes, { min: 1024, max: 2 ** 30 }) ?? 8_388_608;
  return {
    requestsPerBatch: check.whole(fields.requests_per_batch, { min: 1, max: 1_000_000 }) ?? 10_000,
    bytesPerBatch: check.whole(fields.bytes_per_batch, { min: 1, max: 2 ** 30 }) ?? 33_554_432,
    lineBytes: check.whole(fields.line_bytes, atLeastOne) ?? 8_388_608,
    openBatchesPerOrg: check.whole(fields.open_batches_per_org, atLeastOne) ?? 1000,
    bodyBytes,
    conversationBytes: check.whole(fields.conversation_bytes, { min: 1024, max: 2 ** 30 }) ?? bodyBytes,
    responseBytesPerOrg: check.whole(fields.response_bytes_per_org, atLeastOne) ?? 10 * 2 ** 30,
    bodyBytesInFlight: check.whole(fields.body_bytes_in_flight, { min: 1_048_576 }) ?? 268_435_456,
    connections: check.whole(fields.connections, { min: 16, max: 1_000_000 }) ?? 10_000,
    connectionsPerAddress: check.whole(fields.connections_per_address, atLeastOne) ?? 1000,
  };
}

function batch(at: Located | undefined, check: Checker): Config['batch'] {
  const fields = check.object(at, configKeys.batch);
  return {
    priceFactor: check.number(fields.price_factor, { min: 0, max: 1 }) ?? 0.5,
    resultTtlMs: check.duration(fields.result_ttl) ?? 30 * 86_400_000,
    completionWindowMs: check.duration(fields.completion_window) ?? 86_400_000,
    cancelGraceMs: check.duration(fields.cancel_grace) ?? 2000,
  };
}

/** A key set from outside: long enough everywhere, and not an obvious one where others can reach the server. */
function secret(at: Located | undefined, open: boolean, check: Checker): string | undefined {
  const found = check.text(at);
  if (at === undefined || found === undefined) return undefined;
  const hint = 'Make one with: openssl rand -hex 32';
  if (!/^[\x21-\x7e]+$/.test(found))
    return check.fail(at, 'must be printable characters without spaces', hint);
  if (found.length < minKeyLength)
    return check.fail(at, `must have at least ${minKeyLength} characters`, hint);
  if (open && new Set(found).size < 10)
    return check.fail(at, 'is too easily guessed for a server that others can reach', hint);
  return found;
}

function outside(file: string, value: string | undefined): Located | undefined {
  if (presence(value) === undefined) return undefined;
  return { file, line: null, path: '', value: value ?? '', loose: true, hidden: !file.startsWith('--') };
}

function presence(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

function kebab(camel: string): string {
  return camel.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
