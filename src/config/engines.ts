import { resolve } from 'node:path';
import { packageFolder } from '../base/program.ts';
import type { Checker, SourceValue } from './source-value.ts';
import { words } from '../base/words.ts';
import type { EngineConfig, LlamaEngineConfig, OpenAiEngineConfig, ReplicaConfig } from '../core/config.ts';
import { flavors, saltedFlavors } from '../core/flavor.ts';
import { modelInputs } from '../core/model.ts';
import { readModelSource } from '../core/model-source.ts';
import { cardWish } from './card-wish.ts';
import { checkPlaceholders, flavorOf, memberName } from './flavor.ts';
import { configKeys } from './keys.ts';
import { headers } from './headers.ts';
import { jobEngine } from './job-engine.ts';
import { routerOf } from './router.ts';
import { existingFile, withLocation, type ConfigContext, omitUndefined } from './context.ts';

export function engineOf(
  model: SourceValue,
  at: SourceValue | undefined,
  context: ConfigContext,
): EngineConfig | undefined {
  const { check } = context;
  if (at === undefined)
    return check.fail(model, 'needs an engine', 'For example: engine: { kind: llama, path: model.gguf }');
  if (!(at.value instanceof Map)) return check.fail(at, 'expected an object with a kind');
  const kindAt = at.value.get('kind');
  if (kindAt === undefined) return check.fail(at, 'needs a kind', 'One of llama, openai, job, scripted.');
  const flavor = flavors.find((one) => one === kindAt.value);
  if (flavor !== undefined && flavor !== 'openai') {
    const hint = `Every HTTP server has the kind openai: write kind: openai and flavor: ${flavor}.`;
    return check.fail(kindAt, `'${flavor}' is a flavor, not a kind`, hint);
  }
  const kind = check.choice(kindAt, ['llama', 'openai', 'job', 'scripted'] as const);
  if (kind === 'llama') return llamaEngine(at, context);
  if (kind === 'openai') return openAiEngine(at, context);
  if (kind === 'job') return jobEngine(at, context);
  if (kind === undefined) return undefined;
  const fields = check.object(at, configKeys.scripted);
  return {
    kind,
    slots: check.whole(fields.slots, { min: 1, max: 4096 }) ?? 8,
    delayMs: check.duration(fields.delay) ?? 0,
  };
}

function llamaEngine(at: SourceValue, context: ConfigContext): LlamaEngineConfig | undefined {
  const { check } = context;
  const fields = check.object(at, configKeys.llama);
  if (fields.path === undefined) return check.fail(at, 'needs the path of a GGUF file');
  const engine: LlamaEngineConfig = omitUndefined({
    kind: 'llama',
    path: modelPath(fields.path, context) ?? '',
    sequences: check.whole(fields.sequences, { min: 1, max: 256 }) ?? 8,
    context: check.wholeOrAuto(fields.context, { min: 1, max: 16_777_216 }) ?? 'auto',
    threads: check.wholeOrAuto(fields.threads, { min: 1, max: 1024 }) ?? 'auto',
    flashAttention: check.flag(fields.flash_attention) ?? false,
    card: cardWish(fields, check),
  });
  return engine;
}

/** Path of an existing file, or a reference to download at start-up. */
function modelPath(at: SourceValue, { check, base, exists }: ConfigContext): string | undefined {
  const written = check.text(at);
  if (written === undefined) return undefined;
  const source = readModelSource(written);
  if (source.kind === 'wrong') return check.fail(at, source.problem, source.hint);
  if (source.kind !== 'path') return written;
  // `models/offpeak-tiny.gguf` is also found in the package.
  const found = [resolve(base, written), resolve(packageFolder, written)].find((path) => exists(path));
  const hint = "Relative paths start at this file's folder.";
  return found ?? check.fail(at, `there is no file ${resolve(base, written)}`, hint);
}

function openAiEngine(at: SourceValue, context: ConfigContext): OpenAiEngineConfig | undefined {
  const { check } = context;
  const fields = check.object(at, configKeys.openai);
  const urls = fields.url !== undefined ? [fields.url] : (check.list(fields.urls) ?? []);
  if (fields.url !== undefined && fields.urls !== undefined)
    check.fail(fields.urls, 'give url or urls, not both');
  if (urls.length === 0)
    return check.fail(fields.urls ?? at, 'needs a url', 'For example http://127.0.0.1:8000/v1');
  const shared = { apiKey: check.word(fields.api_key) ?? null, slots: slots(fields.slots, check) };
  const timeouts = check.object(fields.timeouts, configKeys.timeouts);
  const engine: OpenAiEngineConfig = omitUndefined({
    kind: 'openai',
    ...flavorOf(fields.flavor, check),
    replicas: urls.map((each) => replica(each, shared, check)),
    router: fields.router && routerOf(fields.router, check),
    model: check.text(fields.model) ?? null,
    // An empty list means text only.
    inputs: check.list(fields.inputs)?.flatMap((item) => check.choice(item, modelInputs) ?? []),
    passThrough: check.list(fields.pass_through)?.flatMap((item) => memberName(item, check) ?? []),
    capabilities: fields.capabilities && capabilities(fields.capabilities, check),
    cacheSalt: cacheSalt(fields.cache_salt, check),
    headers: fields.headers && headers(fields.headers, check),
    ca: fields.ca && (existingFile(fields.ca, context) ?? ''),
    timeouts: {
      connectMs: check.duration(timeouts.connect) ?? 5000,
      firstByteMs: check.duration(timeouts.first_byte) ?? 3_600_000,
      idleMs: check.duration(timeouts.idle) ?? 120_000,
      totalMs: check.duration(timeouts.total) ?? 7_200_000,
    },
  });
  if (fields.cache_salt !== undefined) requireSaltedServers(engine, fields.cache_salt, check);
  return withLocation(engine, { '': at, ...fields });
}

function cacheSalt(at: SourceValue | undefined, check: Checker): string | undefined {
  const found = check.word(at);
  if (at === undefined || found === undefined || found.length >= 32) return found;
  return check.fail(at, 'must have at least 32 characters', 'Generate one with: openssl rand -hex 32');
}

/** Rejects a salt for servers that would ignore it, and for those whose flavor is detected: orgs would share a cache unnoticed. */
function requireSaltedServers(engine: OpenAiEngineConfig, at: SourceValue, check: Checker): void {
  const unsalted = engine.replicas
    .map(({ kind = engine }) => kind.flavor)
    .find((flavor) => flavor === null || !saltedFlavors.includes(flavor));
  if (unsalted === undefined) return;
  const which = unsalted === null ? 'a server without a configured flavor' : `a server of flavor ${unsalted}`;
  check.fail(at, `has no effect on ${which}`, `It needs flavor: ${saltedFlavors.join(' or ')}.`);
}

function capabilities(at: SourceValue, check: Checker): NonNullable<OpenAiEngineConfig['capabilities']> {
  const fields = check.object(at, configKeys.capabilities);
  const customTools = check.choice(fields.custom_tools, words('exact none'));
  const completions = check.choice(fields.completions, words('native none'));
  const spoken = (format: SourceValue | undefined) => {
    const found = check.choice(format, words('native chat'));
    return found === 'chat' ? ('via chat' as const) : found;
  };
  const formats = omitUndefined({
    messages: spoken(fields.messages),
    responses: spoken(fields.responses),
    completions: completions === 'none' ? ('no' as const) : completions,
  });
  return omitUndefined({
    jsonSchema: check.choice(fields.json_schema, words('exact native none')),
    forcedTool: check.choice(fields.forced_tool, words('exact native strict filter none')),
    prefixCache: check.choice(fields.prefix_cache, words('slot shared none')),
    customTools: customTools && customTools === 'exact',
    formats: Object.keys(formats).length > 0 ? formats : undefined,
  });
}

/** Null for discovery. */
function slots(at: SourceValue | undefined, check: Checker): number | null {
  const found = check.wholeOrAuto(at, { min: 1, max: 65_536 });
  return found === undefined || found === 'auto' ? null : found;
}

function serverUrl(at: SourceValue | undefined, check: Checker): string {
  const found = check.url(at);
  if (at === undefined || found === undefined) return '';
  const { username, password } = new URL(found);
  if (username !== '' || password !== '')
    check.fail(
      at,
      'must not contain a user name or password',
      'Write headers: { authorization: "Basic ..." }.',
    );
  checkPlaceholders(at, found, check);
  return found;
}

/** Reads a URL, or an object with settings that differ from those of the engine. */
function replica(
  at: SourceValue,
  shared: Pick<ReplicaConfig, 'apiKey' | 'slots'>,
  check: Checker,
): ReplicaConfig {
  if (!(at.value instanceof Map))
    return withLocation({ ...shared, url: serverUrl(at, check), weight: 1, drain: false }, { url: at });
  const fields = check.object(at, configKeys.urls);
  if (fields.url === undefined) check.fail(at, 'needs a url');
  const found = omitUndefined({
    url: serverUrl(fields.url, check),
    apiKey: check.word(fields.api_key) ?? shared.apiKey,
    model: check.text(fields.model),
    kind: fields.flavor && flavorOf(fields.flavor, check),
    slots: fields.slots === undefined ? shared.slots : slots(fields.slots, check),
    weight: check.number(fields.weight, { min: 0.01, max: 100 }) ?? 1,
    drain: check.flag(fields.drain) ?? false,
  });
  return withLocation(found, fields);
}
