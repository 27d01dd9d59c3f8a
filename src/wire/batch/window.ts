import { parseDuration } from '../../base/duration.ts';
import {
  type BatchWindow,
  type BatchWindows,
  usualWindowMs,
  windowName,
  windowOfLength,
} from '../../core/batch-window.ts';
import type { Fault } from '../../core/errors.ts';
import { describe } from '../schema/explain.ts';

/**
 * Window that a `completion_window` names: undefined for `24h`, the default one, and a fault for one that is not offered. Other
 * types are faults of the schema.
 */
export function readWindow(
  value: unknown,
  windows: BatchWindows,
): { window?: BatchWindow | undefined; fault?: Fault } {
  if (typeof value !== 'string') return {};
  const ms = parseDuration(value) ?? null;
  if (ms === usualWindowMs) return {};
  const window = windowOfLength(windows, ms);
  if (window) return { window };
  const known = new Set(windows.map((each) => each.ms)).add(usualWindowMs);
  const names = [...known].toSorted((a, b) => a - b).map((each) => `"${windowName(each)}"`);
  const message = `expected ${names.join(' or ')}, got ${describe(value)}`;
  return { fault: { param: 'completion_window', code: 'validation_error', message } };
}
