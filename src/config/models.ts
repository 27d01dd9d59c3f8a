import { join } from 'node:path';
import { packageFolder } from '../base/program.ts';
import type { Checker, SourceValue } from './source-value.ts';
import { nearestWord } from '../base/nearest-word.ts';
import type { ModelConfig } from '../core/config.ts';
import type { Hours } from '../core/hours.ts';
import { directKinds, type Serves } from '../core/model.ts';
import { nanoDollars } from '../core/price.ts';
import { engineOf } from './engines.ts';
import { type DefaultHours, hours } from './hours.ts';
import { configKeys } from './keys.ts';
import { prices } from './prices.ts';
import { type ConfigContext, omitUndefined } from './context.ts';

export function builtInModel({ check, exists }: ConfigContext, open?: Hours): ModelConfig {
  const path = join(packageFolder, 'models/offpeak-tiny.gguf');
  if (!exists(path))
    check.problems.push({
      file: path,
      line: null,
      message: 'the built-in model is missing',
      hint: 'Reinstall Offpeak.',
    });
  return {
    id: 'offpeak-tiny',
    aliases: ['default', 'tiny'],
    serves: null,
    prices: { input: nanoDollars(0.1), cachedInput: nanoDollars(0.025), output: nanoDollars(0.4) },
    engine: { kind: 'llama', path, sequences: 8, context: 'auto', threads: 'auto', flashAttention: false },
    hours: open,
  };
}

export function models(at: SourceValue, context: ConfigContext, defaults: DefaultHours): ModelConfig[] {
  const { check } = context;
  const items = check.list(at, 'model') ?? [];
  const taken = new Map<string, string>();
  const named: NamedFallback[] = [];
  const found = items.flatMap((item) => {
    const fields = check.object(item, configKeys.model);
    const id = uniqueName(fields.id, taken, check);
    if (fields.id === undefined) check.fail(item, 'needs an id');
    const aliases =
      check.list(fields.aliases)?.flatMap((alias) => uniqueName(alias, taken, check) ?? []) ?? [];
    const serves = check
      .list(fields.serves, 'capability')
      ?.flatMap((kind) => check.choice(kind, kinds) ?? []);
    const engine = engineOf(item, fields.engine, context);
    if (id === undefined || engine === undefined) return [];
    const batch = check.object(fields.batch, configKeys.modelBatch);
    if (batch.fallbacks_after && !fields.fallbacks)
      check.fail(batch.fallbacks_after, 'the model has no fallbacks', 'Add fallbacks: [another-model].');
    const other = engine.kind === 'llama' ? serves?.find((kind) => !embedded.includes(kind)) : undefined;
    if (other) check.fail(fields.serves!, `the embedded engine does not serve ${other}`, 'Use an upstream.');
    const imageUrls = check.flag(fields.image_urls);
    if (imageUrls && engine.kind === 'llama')
      check.fail(fields.image_urls!, 'the embedded engine does not accept images', 'Remove it.');
    const model: ModelConfig = omitUndefined({
      id,
      aliases,
      serves: serves ?? null,
      prices: prices(fields.price, check),
      engine,
      hours: hours(batch, defaults, check),
      imageUrls,
      batchFallbacksAfterMs: check.duration(batch.fallbacks_after),
    });
    for (const name of check.list(fields.fallbacks) ?? []) named.push({ name, model });
    return [model];
  });
  setFallbacks(named, found, check);
  const [only, ...others] = found;
  // The only model needs no name in requests.
  if (only !== undefined && others.length === 0 && !taken.has('default')) only.aliases.push('default');
  return found;
}

const kinds = ['chat', ...directKinds] as const;

/** Kinds that the embedded engine runs. */
const embedded: readonly Serves[] = ['chat', 'embeddings'];

interface NamedFallback {
  name: SourceValue;
  model: ModelConfig;
}

/** Resolves the fallbacks once all models are known. */
function setFallbacks(named: readonly NamedFallback[], all: readonly ModelConfig[], check: Checker): void {
  for (const { name: at, model } of named) {
    const name = check.text(at);
    if (name === undefined) continue;
    const other = all.find(({ id, aliases }) => id === name || aliases.includes(name));
    const others = all.filter((each) => each !== model).flatMap(({ id, aliases }) => [id, ...aliases]);
    const nearest = nearestWord(name, others);
    if (!other) check.fail(at, `there is no model '${name}'`, nearest && `Did you mean '${nearest}'?`);
    else if (other === model) check.fail(at, 'must not be the model itself', 'Name another model.');
    else model.fallbacks = [...(model.fallbacks ?? []), other.id];
  }
}

/** Reads an id or alias that no other model has. */
function uniqueName(at: SourceValue | undefined, taken: Map<string, string>, check: Checker) {
  const found = check.text(at);
  if (at === undefined || found === undefined) return undefined;
  if (!/^[\w./:@+-]{1,200}$/.test(found))
    return check.fail(at, 'must be 1 to 200 letters, digits or . / : @ + - _', 'Spaces are not allowed.');
  const before = taken.get(found);
  if (before !== undefined)
    return check.fail(at, `'${found}' is already used by ${before}`, 'Ids and aliases must be unique.');
  taken.set(found, at.path);
  return found;
}
