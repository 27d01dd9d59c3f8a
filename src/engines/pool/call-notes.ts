import type { Clock } from '../../base/clock.ts';
import type { CallKnown } from '../../core/call-known.ts';

/** Writes down how a call goes, in place of what was known of an earlier one. */
export function notesOf(known: CallKnown, clock: Pick<Clock, 'monotonic'>) {
  const begun = clock.monotonic();
  let sentAt = begun;
  known.calls = (known.calls ?? 0) + 1;
  known.asked = 0;
  known.server = known.queuedMs = known.firstMs = known.answerId = known.reported = undefined;
  return {
    sent(server: string): void {
      sentAt = clock.monotonic();
      if (known.asked === 0) known.queuedMs = sentAt - begun;
      known.asked = (known.asked ?? 0) + 1;
      known.server = server;
      known.reported = undefined;
    },
    answers(id?: unknown): void {
      known.firstMs = clock.monotonic() - sentAt;
      if (typeof id === 'string') known.answerId = id;
    },
  };
}
