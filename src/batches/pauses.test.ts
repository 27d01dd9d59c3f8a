import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { Pauses } from './pauses.ts';

function paused(float = 0) {
  const clock = createManualClock();
  return { clock, pauses: new Pauses(clock, { bytes: (n) => new Uint8Array(n), float: () => float }) };
}

describe('Pauses', () => {
  it('sends without limit while nobody refuses', () => {
    expect(paused().pauses.allowance('m', 100)).toBe(Number.POSITIVE_INFINITY);
  });

  it('sends nothing while it lasts, then one probe at a time until one is answered', async () => {
    const { clock, pauses } = paused();
    const ms = pauses.refused('m', undefined);
    expect(pauses.allowance('m', 0)).toBe(0);
    await clock.advance(ms);
    expect([pauses.allowance('m', 0), pauses.allowance('m', 1), pauses.allowance('n', 5)]).toEqual([
      1,
      0,
      Number.POSITIVE_INFINITY,
    ]);
    pauses.answered('m');
    expect(pauses.allowance('m', 1)).toBe(Number.POSITIVE_INFINITY);
  });

  it('waits longer after each probe that is refused, to 30 seconds', async () => {
    const { clock, pauses } = paused();
    const waits: number[] = [];
    for (let n = 0; n < 8; n++) {
      waits.push(pauses.refused('m', undefined));
      await clock.advance(waits.at(-1)!);
    }
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
  });

  it('does not count refusals that were under way when it began: a storm is one refusal', async () => {
    const { clock, pauses } = paused();
    expect(pauses.refused('m', undefined)).toBe(500);
    await clock.advance(100);
    for (let n = 0; n < 50; n++) expect(pauses.refused('m', undefined)).toBe(400);
  });

  it('honours retry-after, up to a quarter of an hour', () => {
    expect(paused().pauses.refused('m', 7)).toBe(7_000);
    expect(paused().pauses.refused('m', 86_400)).toBe(900_000);
    expect(paused(0.5).pauses.refused('m', 0)).toBe(750);
  });
});
