import type { Clock } from '../../base/clock.ts';
import type { CallTrace } from '../../core/call-trace.ts';

/** Writes down how a call goes, in place of what was known of an earlier one. */
export function notesOf(known: CallTrace, clock: Pick<Clock, 'monotonic'>) {
  const begun = clock.monotonic();
  let sentAt = begun;
  known.calls = (known.calls ?? 0) + 1;
  known.serversAsked = 0;
  known.server = known.queuedMs = known.firstOutputMs = known.answerId = known.reported = undefined;
  return {
    sent(server: string): void {
      sentAt = clock.monotonic();
      if (known.serversAsked === 0) known.queuedMs = sentAt - begun;
      known.serversAsked = (known.serversAsked ?? 0) + 1;
      known.server = server;
      known.reported = undefined;
    },
    answers(id?: unknown): void {
      known.firstOutputMs = clock.monotonic() - sentAt;
      if (typeof id === 'string') known.answerId = id;
    },
  };
}
