import { parseDuration } from '../base/duration.ts';
import { type BatchWindow, type BatchWindows, usualWindowMs } from '../core/batch-window.ts';
import type { Checker, SourceValue } from './source-value.ts';

const usualPriceFactor = 0.5;

/** Offered windows of batches: those of `windows`, or the one of `completion_window` and `price_factor`, its short form. */
export function windows(
  fields: { windows?: SourceValue; completion_window?: SourceValue; price_factor?: SourceValue },
  check: Checker,
): BatchWindows {
  const ms = check.duration(fields.completion_window) ?? usualWindowMs;
  const priceFactor = factor(fields.price_factor, check) ?? usualPriceFactor;
  if (!fields.windows) return [{ ms, priceFactor }];
  for (const name of ['completion_window', 'price_factor'] as const)
    if (fields[name])
      check.fail(
        fields[name],
        'cannot be combined with windows',
        'Set each window and its price in batch.windows, such as windows: { 1h: 0.8, 24h: 0.5 }.',
      );
  const [first = { ms, priceFactor }, ...others] = offered(fields.windows, check);
  return [first, ...others];
}

function offered(at: SourceValue, check: Checker): BatchWindow[] {
  const example = 'For example windows: { 1h: 0.8, 24h: 0.5, 7d: 0.4 }';
  if (!(at.value instanceof Map) || at.value.size === 0) {
    check.fail(at, 'expected an object of windows and their price factors', example);
    return [];
  }
  const found = new Map<number, BatchWindow>();
  for (const [name, field] of at.value) {
    const ms = parseDuration(name);
    const priceFactor = factor(field, check) ?? usualPriceFactor;
    if (ms === undefined || ms === 0)
      check.fail(
        field,
        `expected a duration as the name of a window, found ${JSON.stringify(name)}`,
        example,
      );
    else if (found.has(ms)) check.fail(field, 'names a window twice', 'Name each window once.');
    else found.set(ms, { ms, priceFactor });
  }
  return [...found.values()].toSorted((a, b) => a.ms - b.ms);
}

function factor(at: SourceValue | undefined, check: Checker): number | undefined {
  return check.number(at, { min: 0, max: 1 });
}
