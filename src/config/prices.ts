import { type PriceList, nanoDollars, type Prices, type Rates } from '../core/price.ts';
import { configKeys } from './keys.ts';
import type { Checker, SourceValue } from './source-value.ts';

type Fields = Partial<Record<(typeof configKeys)['price'][number], SourceValue>>;

/** Prices of a model: an object, or a list of which all but the first have `from`. */
export function prices(at: SourceValue | undefined, check: Checker): PriceList {
  if (at === undefined || !Array.isArray(at.value)) {
    const fields = check.object(at, configKeys.price);
    if (fields.from) check.fail(fields.from, 'one price applies at all times', 'Make price a list.');
    return pricesOf(fields, check);
  }
  const places = at.value;
  const items = places.map((item) => check.object(item, configKeys.price));
  if (items.length === 0) check.fail(at, 'must have at least one price');
  const [first = {}, ...later] = items;
  if (first.from) check.fail(first.from, 'the first price applies from the beginning', 'Remove from.');
  let before = Number.NEGATIVE_INFINITY;
  const changes = later.map((fields, n) => {
    const from = startOf(fields.from, check);
    if (!fields.from) check.fail(places[n + 1]!, 'needs a from');
    else if (from !== undefined && from <= before) check.fail(fields.from, 'must be after the previous from');
    before = from ?? before;
    return { from: from ?? 0, ...pricesOf(fields, check) };
  });
  return { ...pricesOf(first, check), ...(changes.length > 0 && { changes }) };
}

/** Start of a day (UTC) such as `2027-01-01`, or an instant. */
function startOf(at: SourceValue | undefined, check: Checker): number | undefined {
  const text = check.word(at);
  if (at === undefined || text === undefined) return undefined;
  const ms = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}Z)?$/.test(text) ? Date.parse(text) : Number.NaN;
  // Date accepts 31 February as a day in March.
  if (!Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.slice(0, 10))) return ms;
  return check.fail(at, 'expected a day (UTC) such as 2027-01-01 or a time such as 2027-01-01T08:00:00Z');
}

function pricesOf(fields: Fields, check: Checker): Prices {
  const base = rates(fields, check);
  const given = check.list(fields.tiers)?.map((item) => {
    const tier = check.object(item, configKeys.priceTier);
    const above = check.whole(tier.above, { min: 1, max: 1_000_000_000 });
    if (tier.above === undefined) check.fail(item, 'needs above: the number of input tokens');
    return { above: above ?? 0, ...rates(tier, check, base) };
  });
  return { ...base, ...(given && { tiers: given.toSorted((a, b) => a.above - b.above) }) };
}

/** @param base rates that a tier keeps where it has none */
function rates(fields: Omit<Fields, 'from' | 'tiers'>, check: Checker, base?: Rates): Rates {
  const price = (field: SourceValue | undefined) => {
    const usd = check.number(field, { min: 0, max: 100_000 });
    return usd === undefined ? undefined : nanoDollars(usd);
  };
  const input = price(fields.input) ?? base?.input ?? 0;
  const cacheWrite = price(fields.cache_write) ?? base?.cacheWrite;
  return {
    input,
    cachedInput: price(fields.cached_input) ?? (fields.input ? input : (base?.cachedInput ?? input)),
    ...(cacheWrite !== undefined && { cacheWrite }),
    output: price(fields.output) ?? base?.output ?? 0,
  };
}
