import type { Checker, SourceValue } from './source-value.ts';
import { closedMsPerDay, type Hours, parseHours } from '../core/hours.ts';

/** What holds for models that do not say. */
export interface UsualHours {
  /** Absent where their batches run at any time. */
  hours?: Hours | undefined;
  completionWindowMs: number;
}

/** When batches run; undefined for at any time. */
export function hours(
  { hours: at, share: shareAt }: { hours?: SourceValue; share?: SourceValue },
  usual: UsualHours,
  check: Checker,
): Hours | undefined {
  const text = check.text(at);
  const share = check.number(shareAt, { min: 0, max: 1 });
  const always = text === 'always';
  const read = always ? undefined : text === undefined ? usual.hours : parseHours(text);
  if (at && !read && !always)
    return check.fail(at, 'expected hours and a time zone', 'Write "22:00-06:00 Europe/Berlin", or always.');
  if (!read) return shareAt && check.fail(shareAt, 'says nothing without hours', 'Set hours, too.');
  if (!at && !shareAt) return usual.hours;
  const found = { ...read, share: share ?? 0 };
  if (found.share === 0 && closedMsPerDay(found) >= usual.completionWindowMs)
    check.fail(
      at ?? shareAt!,
      'batches would end before their hours begin',
      'Set batch.completion_window to a longer time, or share to what they may have outside of their hours.',
    );
  return found;
}
