import { expect, it } from 'vitest';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import type { CallTrace } from '../../core/call-trace.ts';
import { notesOf } from './call-notes.ts';

it('a call that is made again and finds no place tells no server of the first', () => {
  const clock = createManualClock();
  const known: CallTrace = { model: 'm' };
  const notes = notesOf(known, clock);
  notes.sent('a');
  notes.answers('id');
  expect(known).toEqual({
    model: 'm',
    calls: 1,
    serversAsked: 1,
    server: 'a',
    queuedMs: 0,
    firstOutputMs: 0,
    answerId: 'id',
  });
  known.reported = { inputTokens: 7 };
  notesOf(known, clock);
  expect(known).toEqual({ model: 'm', calls: 2, serversAsked: 0 });
});

it('what a server reported that was at fault then is not told of the next', () => {
  const known: CallTrace = {};
  const notes = notesOf(known, createManualClock());
  notes.sent('a');
  known.reported = { inputTokens: 7 };
  notes.sent('b');
  expect(known).toMatchObject({ server: 'b', serversAsked: 2, calls: 1 });
  expect(known.reported).toBeUndefined();
});
