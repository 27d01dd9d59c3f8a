import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isAddressRange } from './base/addresses.ts';
import { type Checker, ConfigError, createChecker, type SourceValue } from './config/source-value.ts';
import { parseSourceYaml } from './config/source-yaml.ts';
import { isLoopback } from './base/loopback.ts';
import { fileStores } from './config/bucket.ts';
import { presence } from './base/fields.ts';
import { environment, outside } from './config/environment.ts';
import { configKeys, type environmentKeys, logLevels } from './config/keys.ts';
import { batch, files, limits } from './config/limits.ts';
import { headers } from './config/headers.ts';
import { builtInModel, models } from './config/models.ts';
import { surfaces } from './config/surfaces.ts';
import { folder, type ConfigContext, omitUndefined } from './config/context.ts';
import type { Config } from './core/config.ts';
import { DatabaseUrlError, parseDatabaseUrl } from './core/database-url.ts';
import { isTrusted } from './core/model-source.ts';
import { type Role, roles } from './core/role.ts';
import { defaultTagName } from './core/usage-tag.ts';

export type { Config, EngineConfig } from './core/config.ts';

export interface ConfigSources {
  /** Values of command line flags by name: `{ port: '8080' }`. */
  flags?: Partial<Record<'host' | 'port' | 'data' | 'config' | 'database' | 'role' | 'logLevel', string>>;
  env?: Record<string, string | undefined>;
  /** Base of relative paths. */
  cwd?: string;
  readFile?: (path: string) => string;
  exists?: (path: string) => boolean;
  /** True for a reload: an empty file is then an error, because an editor may be about to write it. */
  isReload?: boolean;
}

/** Read if it exists and no other file is named. */
export const defaultFile = 'offpeak.yaml';
const minKeyLength = 32;

/** Configuration file named by a flag or variable. */
export function namedFile(
  flags: { config?: string },
  env: { OFFPEAK_CONFIG?: string | undefined },
): string | undefined {
  return flags.config ?? presence(env.OFFPEAK_CONFIG);
}

/**
 * Configuration from flags, environment, file and defaults, in this order of precedence.
 * @throws ConfigError with all problems
 */
export function loadConfig(sources: ConfigSources = {}): Config {
  const { flags = {}, env = environment, cwd = process.cwd(), exists = existsSync } = sources;
  const readFile = sources.readFile ?? ((path: string) => readFileSync(path, 'utf8'));
  const check = createChecker();
  const named = namedFile(flags, env);
  const path = resolve(cwd, named ?? defaultFile);
  const root = named !== undefined || exists(path) ? readRoot(path, { env, readFile, check }) : undefined;
  if (sources.isReload && named !== undefined && root === undefined && check.problems.length === 0)
    check.problems.push({ file: path, line: null, message: 'the configuration file is empty', hint: null });
  const context: ConfigContext = { check, cwd, base: dirname(path), exists };
  const file = check.object(root, configKeys.root);
  // Where all entries are commented out, the built-in model would answer requests that are meant for them.
  const listed = root?.value instanceof Map ? root.value.get('models') : undefined;
  if (listed?.value === null)
    check.fail(listed, 'must name at least one model', 'Leave models out for the built-in model.');
  const server = check.object(file.server, configKeys.server);
  const variable = (name: keyof typeof environmentKeys, inFile: SourceValue | undefined) =>
    outside(name, env[name]) ?? inFile;
  const outer = (
    flag: keyof typeof flags,
    name: keyof typeof environmentKeys,
    inFile: SourceValue | undefined,
  ) => outside(`--${kebab(flag)}`, flags[flag]) ?? variable(name, inFile);

  const data = folder(outer('data', 'OFFPEAK_DATA', file.data), context) ?? resolve(cwd, 'offpeak-data');
  const hub = check.object(file.hub, configKeys.hub);
  const { hours: defaultHours, ...batches } = batch(file.batch, check);
  const modelDefaults = { hours: defaultHours, windows: batches.windows };
  const served =
    file.models === undefined
      ? [builtInModel(context, defaultHours)]
      : models(file.models, context, modelDefaults);
  const databaseUrl = database(outer('database', 'OFFPEAK_DATABASE', file.database), check);
  const roleAt = outer('role', 'OFFPEAK_ROLE', file.role);
  const caps = limits(file.limits, { list: served, isShared: databaseUrl !== 'sqlite' }, check);
  const { store, fallback, ...taken } = files(file.files, caps, check);
  const stores = { store: variable('OFFPEAK_FILES', store), fallback };
  const host = check.text(outer('host', 'OFFPEAK_HOST', server.host)) ?? '127.0.0.1';
  // Hosting platforms set PORT; Offpeak's own settings override it.
  const port = outer('port', 'OFFPEAK_PORT', server.port) ?? outside('PORT', env.PORT);
  const open = !isLoopback(host);
  const adminKeyAt = variable('OFFPEAK_ADMIN_KEY', file.admin_key);
  const config: Config = omitUndefined({
    server: {
      host,
      port: check.whole(port, { min: 0, max: 65_535 }) ?? 8080,
      trustedProxies: addresses(server.trusted_proxies, check),
    },
    console: check.flag(file.console) ?? true,
    data,
    database: databaseUrl,
    postgres: postgres(file.postgres, check),
    files: { ...taken, ...fileStores(stores, file.s3, env, check) },
    models: served,
    modelFolder: folder(variable('OFFPEAK_MODEL_FOLDER', file.model_folder), context) ?? join(data, 'models'),
    hub: {
      endpoint: hubEndpoint(variable('OFFPEAK_HF_ENDPOINT', hub.endpoint), check),
      token: check.word(variable('OFFPEAK_HF_TOKEN', hub.token)) ?? null,
    },
    surfaces: surfaces(file.surfaces, check),
    limits: caps,
    batch: batches,
    strictFields: check.flag(file.strict_fields) ?? false,
    metrics: metrics(file.metrics, check),
    tracing: tracing(file.tracing, check),
    egress: egress(file.egress, check),
    usageTag: check.text(file.usage_tag) ?? defaultTagName,
    role: role(roleAt, databaseUrl, check),
    quarantineMs: check.duration(file.quarantine) ?? 7 * 86_400_000,
    drainMs: check.duration(file.drain) ?? 25_000,
    drainDelayMs: check.duration(file.drain_delay) ?? 0,
    logLevel: check.choice(outer('logLevel', 'OFFPEAK_LOG_LEVEL', file.log_level), logLevels) ?? 'info',
    apiKey: secret(variable('OFFPEAK_API_KEY', file.api_key), open, check),
    adminKey: secret(adminKeyAt, open, check),
    // A stolen database can be attacked offline, on whatever address the server listens.
    secretsKey: secret(variable('OFFPEAK_SECRETS_KEY', file.secrets_key), true, check),
    acceptedSecretsKeys: (check.list(file.accepted_secrets_keys) ?? []).flatMap(
      (at) => secret(at, true, check) ?? [],
    ),
  });
  if (adminKeyAt !== undefined && config.adminKey !== undefined && config.apiKey === config.adminKey)
    check.fail(adminKeyAt, 'must differ from the API key');
  // In the order of the file, then flags and variables.
  const problems = check.problems.toSorted((a, b) => (a.line ?? Infinity) - (b.line ?? Infinity));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

function readRoot(
  path: string,
  from: { env: Record<string, string | undefined>; readFile: (path: string) => string; check: Checker },
): SourceValue | undefined {
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
    const hint = reason === 'ENOENT' ? 'The file does not exist.' : `The system reports ${reason}.`;
    from.check.problems.push({
      file: path,
      line: null,
      message: 'the configuration file cannot be read',
      hint,
    });
    return undefined;
  }
  const root = parseSourceYaml(text, path, lookup, from.check);
  return root?.value === null ? undefined : root;
}

function addresses(at: SourceValue | undefined, check: Checker): string[] {
  const hint = 'For example 10.0.0.5 or 10.0.0.0/8';
  return items(at, check, isAddressRange, ['must be an IP address or CIDR range', hint]);
}

function metrics(at: SourceValue | undefined, check: Checker): Config['metrics'] {
  if (at === undefined) return undefined;
  const fields = check.object(at, configKeys.metrics);
  return {
    host: check.text(fields.host) ?? '127.0.0.1',
    port: check.whole(fields.port, { min: 0, max: 65_535 }) ?? 9464,
    orgs: check.whole(fields.orgs, { min: 0, max: 1_000 }) ?? 0,
  };
}

function tracing(at: SourceValue | undefined, check: Checker): Config['tracing'] {
  if (at === undefined) return undefined;
  const fields = check.object(at, configKeys.tracing);
  const endpoint = check.url(fields.endpoint);
  if (fields.endpoint === undefined)
    check.fail(at, 'needs an endpoint', 'For example endpoint: http://127.0.0.1:4318');
  else if (endpoint?.endsWith('/v1/traces'))
    check.fail(fields.endpoint, 'must be the base URL: /v1/traces is added');
  return {
    endpoint: endpoint ?? '',
    headers: fields.headers ? headers(fields.headers, check) : {},
    sample: check.number(fields.sample, { min: 0, max: 1 }) ?? 1,
    parentBased: check.flag(fields.parent_based) ?? false,
  };
}

function egress(at: SourceValue | undefined, check: Checker): Config['egress'] {
  const fields = check.object(at, configKeys.egress);
  const ports = check
    .list(fields.ports, 'port')
    ?.flatMap((item) => check.whole(item, { min: 1, max: 65_535 }) ?? []);
  return { allow: opened(fields.allow, check), ...(ports && { ports }) };
}

function opened(at: SourceValue | undefined, check: Checker): string[] {
  const isHost = (text: string) => /^(?!.*\/)(?=.*[a-z])[\w-]+(\.[\w-]+)*$/i.test(text);
  const hint = 'For example 10.0.0.0/8 or hooks.internal';
  const what = 'must be an IP address, a CIDR range or a host name';
  return items(at, check, (text) => isAddressRange(text) || isHost(text), [what, hint]);
}

function items(
  at: SourceValue | undefined,
  check: Checker,
  isFit: (text: string) => boolean,
  [message, hint]: [string, string],
): string[] {
  return (check.list(at) ?? []).flatMap((item) => {
    const found = check.text(item);
    if (found === undefined || isFit(found)) return found ?? [];
    return check.fail(item, message, hint) ?? [];
  });
}

function hubEndpoint(at: SourceValue | undefined, check: Checker): string {
  const found = check.url(at);
  if (at !== undefined && found !== undefined && !isTrusted(new URL(found)))
    check.fail(at, 'must be an https:// URL', 'Plain http:// is allowed only for this machine.');
  return found ?? 'https://huggingface.co';
}

function database(at: SourceValue | undefined, check: Checker): string {
  const found = check.text(at);
  if (at === undefined || found === undefined || found === 'sqlite') return 'sqlite';
  try {
    parseDatabaseUrl(found);
  } catch (error) {
    if (!(error instanceof DatabaseUrlError)) throw error;
    check.fail(at, error.message, error.hint);
  }
  return found;
}

function postgres(at: SourceValue | undefined, check: Checker): Config['postgres'] {
  const { connections, prepare } = check.object(at, configKeys.postgres);
  return {
    connections: check.whole(connections, { min: 5, max: 1_000 }) ?? 10,
    prepare: check.flag(prepare) ?? true,
  };
}

function role(at: SourceValue | undefined, databaseUrl: string, check: Checker): Role {
  const found = check.choice(at, roles) ?? 'all';
  if (at !== undefined && found !== 'all' && databaseUrl === 'sqlite')
    check.fail(
      at,
      'must be all with an embedded database, which only one process uses',
      'Set database to a postgres:// URL to divide the work among processes.',
    );
  return found;
}

/** Configured key: long enough, and not trivial if other machines can reach the server. */
function secret(at: SourceValue | undefined, open: boolean, check: Checker): string | undefined {
  const found = check.text(at);
  if (at === undefined || found === undefined) return undefined;
  const hint = 'Generate one with: openssl rand -hex 32';
  if (!/^[\x21-\x7e]+$/.test(found))
    return check.fail(at, 'must be printable characters without spaces', hint);
  if (found.length < minKeyLength)
    return check.fail(at, `must have at least ${minKeyLength} characters`, hint);
  if (open && new Set(found).size < 10)
    return check.fail(at, 'is too easy to guess for a server that other machines can reach', hint);
  return found;
}

function kebab(camel: string): string {
  return camel.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
