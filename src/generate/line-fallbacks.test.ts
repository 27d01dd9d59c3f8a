import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { type Hours, parseHours } from '../core/hours.ts';
import { createCatalog, type Model } from '../core/model.ts';
import type { Waiting } from '../core/waiting.ts';
import type { Generate } from './generate.ts';
import { withLineFallbacks } from './line-fallbacks.ts';

const night = (share: number): Hours => ({ ...parseHours('22:00-06:00')!, share });

/** What stands in for a model that takes nothing, for the lines of batches, at an instant. */
function standingIn(spare: Partial<Model>, at: string) {
  const clock = createManualClock(Date.parse(at));
  const of = (id: string, more: Partial<Model>): Model => {
    const prices = { input: 0, cachedInput: 0, output: 0 };
    return { id, aliases: [], serves: ['chat'], prices, createdAt: 0, ...more };
  };
  const down: Waiting = { reason: 'engine_unavailable', message: 'It is down.', since: clock.now() };
  const generate = withLineFallbacks(
    {
      catalog: createCatalog([
        of('m', { fallbacks: ['spare'], batchFallbacksAfterMs: 0 }),
        of('spare', spare),
      ]),
      waiting: (id: string) => (id === 'm' ? down : null),
      room: (id: string) => (id === 'm' ? 0 : 4),
    } as Partial<Generate> as Generate,
    clock,
  );
  return [generate.standIns('m'), generate.room('m'), generate.waiting('m')?.message];
}

describe('withLineFallbacks', () => {
  it.each([
    ['at any time without', undefined, '2026-01-10T12:00:00Z'],
    ['while they are open', night(0), '2026-01-10T23:00:00Z'],
    ['outside of those that leave a share', night(0.5), '2026-01-10T12:00:00Z'],
  ])('sends lines to a fallback in its own hours: %s', (_, hours, at) => {
    expect(standingIn({ hours }, at)).toEqual([['spare'], 4, undefined]);
  });

  it('leaves a fallback alone outside of its hours', () => {
    expect(standingIn({ hours: night(0) }, '2026-01-10T12:00:00Z')).toEqual([[], 0, 'It is down.']);
  });
});
