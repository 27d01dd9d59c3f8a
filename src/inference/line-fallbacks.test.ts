import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { ApiError } from '../core/errors.ts';
import { type Hours, parseHours } from '../core/hours.ts';
import { createCatalog, type Model } from '../core/model.ts';
import type { Waiting } from '../core/waiting.ts';
import type { Capacity } from './capacity.ts';
import type { Inference, LineCall } from './inference.ts';
import { withLineFallbacks } from './line-fallbacks.ts';

const night = (share: number): Hours => ({ ...parseHours('22:00-06:00')!, share });

/** A model that takes nothing, and one in its place for the lines of batches, at an instant. */
function made(
  spare: Partial<Model>,
  at: string,
  { room = 0, runLine }: { room?: number; runLine?: Inference['runLine'] } = {},
) {
  const clock = createManualClock(Date.parse(at));
  const of = (id: string, more: Partial<Model>): Model => {
    const prices = { input: 0, cachedInput: 0, output: 0 };
    return { id, aliases: [], serves: ['chat'], prices, createdAt: 0, ...more };
  };
  const down: Waiting = { reason: 'engine_unavailable', message: 'It is down.', since: clock.now() };
  const catalog = createCatalog([
    of('m', { fallbacks: ['spare'], batchFallbacksAfterMs: 0 }),
    of('spare', spare),
  ]);
  const capacity = {
    waiting: (id: string) => (id === 'm' ? down : null),
    room: (id: string) => (id === 'm' ? room : 4),
  } as Partial<Capacity> as Capacity;
  const inference = { runLine } as Inference;
  return { catalog, ...withLineFallbacks({ inference, capacity, catalog }, clock) };
}

function standingIn(spare: Partial<Model>, at: string) {
  const { capacity } = made(spare, at);
  return [capacity.activeFallbacks('m'), capacity.room('m'), capacity.waiting('m')?.message];
}

describe('withLineFallbacks', () => {
  it.each([
    ['at any time without', undefined, '2026-01-10T12:00:00Z'],
    ['while they are open', night(0), '2026-01-10T23:00:00Z'],
    ['outside of those that leave a share', night(0.5), '2026-01-10T12:00:00Z'],
  ])('sends lines to a fallback in its own hours: %s', (_, hours, at) => {
    expect(standingIn({ hours }, at)).toEqual([['spare'], 4, undefined]);
  });

  it('shows a wait for batches that have no priced fallback', () => {
    const { capacity } = made({}, '2026-01-10T12:00:00Z');
    expect([capacity.waiting('m', ['spare']), capacity.waiting('m', ['m'])?.message]).toEqual([
      null,
      'It is down.',
    ]);
  });

  it('leaves a fallback alone outside of its hours', () => {
    expect(standingIn({ hours: night(0) }, '2026-01-10T12:00:00Z')).toEqual([[], 0, 'It is down.']);
  });

  it.each([
    ['no place for it', 0, ['spare'], ['spare'], 'spare is down'],
    ['a place to try it', 1, ['spare'], ['m', 'spare'], 'm is down'],
    ['no place, and the batch no price for the other', 0, [], ['m'], 'm is down'],
  ])('asks for a line where the model has %s', async (_, room, priced, expected, first) => {
    const asked: string[] = [];
    const runLine: Inference['runLine'] = ({ model: { id } }) => {
      asked.push(id);
      return Promise.reject(new ApiError('upstream_unreachable', `${id} is down`));
    };
    const { catalog, inference } = made({}, '2026-01-10T12:00:00Z', { room, runLine });
    const call = { model: catalog.find('m')!, priced } as Partial<LineCall> as LineCall;
    await expect(inference.runLine(call)).rejects.toThrow(first);
    expect(asked).toEqual(expected);
  });
});
