import type { Checker, SourceValue } from './source-value.ts';
import { type BatchWindows, defaultWindow } from '../core/batch-window.ts';
import { closedMsPerDay, type Hours, isZone, parseHours } from '../core/hours.ts';

/** Defaults for models. */
export interface DefaultHours {
  /** Unrestricted if absent. */
  hours?: Hours | undefined;
  windows: BatchWindows;
}

/** Hours in which batches run; undefined for unrestricted. */
export function hours(
  { hours: at, share: shareAt }: { hours?: SourceValue; share?: SourceValue },
  defaults: DefaultHours,
  check: Checker,
): Hours | undefined {
  const text = check.text(at);
  const share = check.number(shareAt, { min: 0, max: 1 });
  const always = text === 'always';
  const read = always ? undefined : text === undefined ? defaults.hours : parseHours(text);
  if (at && !read && !always) return wrongHours(at, text, check);
  if (!read) return shareAt && check.fail(shareAt, 'has no effect without hours', 'Set hours as well.');
  if (!at && !shareAt) return defaults.hours;
  const found = { ...read, share: share ?? 0 };
  if (found.share === 0 && closedMsPerDay(found) >= defaultWindow(defaults.windows).ms)
    check.fail(
      at ?? shareAt!,
      'batches would expire before their hours begin',
      'Set a longer batch.completion_window (or one in batch.windows), or a share for the time outside the hours.',
    );
  return found;
}

function wrongHours(at: SourceValue, text: string | undefined, check: Checker): undefined {
  const zone = /^[\d:-]+\s+(\S+)$/.exec(text?.trim() ?? '')?.[1];
  return zone === undefined || isZone(zone)
    ? check.fail(at, 'expected hours and a time zone', 'Write "22:00-06:00 Europe/Berlin", or always.')
    : check.fail(at, `unknown time zone ${zone}`, 'Name one such as Europe/Berlin.');
}
