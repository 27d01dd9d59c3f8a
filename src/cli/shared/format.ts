import { isoSeconds } from '../../base/clock.ts';
import type { RemoteWaiting } from '../../client/resources.ts';
import type { FieldWarning } from '../../core/field-warning.ts';
import { warningText } from '../../wire/shared/field-warnings.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Message and label of a wait: `The model's server cannot be reached. (engine_unavailable)`. */
export function waitingText(waiting: RemoteWaiting, ahead?: number | null): string {
  return `${waiting.message} (${waitingLabel(waiting, ahead)})`;
}

/** Label of a wait: `queued, 3 ahead`, or `hours, until 2026-01-31T21:00:00Z`. */
export function waitingLabel({ reason, until }: RemoteWaiting, ahead: number | null = null): string {
  return [reason, until && `until ${isoTime(until)}`, ahead !== null && `${ahead} ahead`]
    .filter(Boolean)
    .join(', ');
}

/** Prints the warnings about the requests of a file or a batch. */
export function showWarnings(
  warnings: readonly FieldWarning[] | null | undefined,
  terminal: Pick<Terminal, 'record'>,
): void {
  for (const warning of warnings ?? []) terminal.record([['warning', warningText(warning)]]);
}

/** Unix seconds as `2026-11-21T09:30:00Z`. Strings are returned unchanged. */
export function isoTime(instant: number | string): string {
  return typeof instant === 'string' ? instant : isoSeconds(instant * 1000);
}
