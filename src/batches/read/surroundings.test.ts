import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { noBudgets } from '../../../test/support/no-budgets.ts';
import { createCatalog } from '../../core/model.ts';
import type { WaitingCause } from '../../core/waiting.ts';
import { Fleet } from '../../generate/fleet.ts';
import { surroundingsOf } from './surroundings.ts';

const prices = { input: 0, cachedInput: 0, output: 0 };
const model = { id: 'mine', aliases: ['my-alias'], serves: ['chat' as const], prices, createdAt: 0 };
const cause = (message: string): WaitingCause => ({
  scope: 'account',
  code: 'upstream_error',
  message,
  since: 5,
});
const everywhere = Number.POSITIVE_INFINITY;

describe('what batches wait for', () => {
  let waiting: WaitingCause | null;
  let fleet: Fleet;
  let told: (name: string) => [why: string | undefined, room: number];

  beforeEach(() => {
    waiting = null;
    const catalog = createCatalog([model]);
    fleet = new Fleet(catalog, createManualClock());
    const surroundings = surroundingsOf({
      budgets: noBudgets,
      generate: {
        catalog,
        fleet,
        room: (id) => (id === 'mine' ? 3 : 0),
        waiting: (id) => (id === 'mine' ? waiting : null),
      },
      missing: { waiting: () => null },
      hours: { waiting: () => null },
    });
    told = (name) => [surroundings.waiting(name)?.message, surroundings.room(name)];
  });

  it('is told only where nobody sends the lines of a model', () => {
    expect(told('my-alias')).toEqual([undefined, 3]);
    waiting = cause('here');
    expect(told('my-alias')).toEqual(['here', 3]);
    const others = { interactive: {}, serves: ['my-alias'] };
    const waits = { 'my-alias': cause('there') };
    fleet.learn([{ ...others, waits }]);
    expect(told('my-alias')).toEqual(['here', 3]);
    fleet.learn([{ ...others, waits }, others]);
    expect(told('my-alias')).toEqual([undefined, everywhere]);
    waiting = null;
    expect(told('my-alias')).toEqual([undefined, 3]);
  });

  it('is told of the models of others, too', () => {
    const others = { interactive: {}, serves: ['theirs'] };
    fleet.learn([others]);
    expect(told('theirs')).toEqual([undefined, everywhere]);
    fleet.learn([{ ...others, waits: { theirs: cause('there') } }]);
    expect(told('theirs')).toEqual(['there', 0]);
    expect(told('nobodys')).toEqual([undefined, 0]);
  });
});
