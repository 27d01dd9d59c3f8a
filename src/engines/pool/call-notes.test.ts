import { expect, it } from 'vitest';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import type { CallKnown } from '../../core/call-known.ts';
import { notesOf } from './call-notes.ts';

it('a call that is made again and finds no place tells no server of the first', () => {
  const clock = createManualClock();
  const known: CallKnown = { model: 'm' };
  const notes = notesOf(known, clock);
  notes.sent('a');
  notes.answers('id');
  expect(known).toEqual({ model: 'm', asked: 1, server: 'a', queuedMs: 0, firstMs: 0, answerId: 'id' });
  notesOf(known, clock);
  expect(known).toEqual({ model: 'm', asked: 0 });
});
