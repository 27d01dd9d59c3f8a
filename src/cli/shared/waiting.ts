import type { RemoteWaiting } from '../../client/resources.ts';
import { isoTime } from '../terminal/iso-time.ts';

/** `The model's server cannot be reached. (engine_unavailable)`. */
export function waitingText(waiting: RemoteWaiting, ahead?: number | null): string {
  return `${waiting.message} (${waitingWord(waiting, ahead)})`;
}

/** `queued, 3 before it`, or `hours, until 2026-01-31T21:00:00Z`. */
export function waitingWord({ reason, until }: RemoteWaiting, ahead: number | null = null): string {
  return [reason, until && `until ${isoTime(until)}`, ahead !== null && `${ahead} before it`]
    .filter(Boolean)
    .join(', ');
}
