import { expect, it } from 'vitest';
import { shareUse, type SharedUse } from './shared-use.ts';

const year = 365 * 86_400_000;

it('recovers from a clock of the database that was ahead', () => {
  const now = Date.UTC(2026, 10, 28);
  const all = {
    rates: { requests: { limit: 10, unused: 0, wants: 10 } },
    concurrent: { limit: 4, inFlight: 4, wants: 0 },
  };
  const empty: SharedUse = { meters: {}, held: {} };
  const { use } = shareUse(empty, 'p1', all, now + year);
  const more = {
    rates: { requests: { limit: 10, unused: 0, wants: 10 } },
    concurrent: { limit: 4, inFlight: 0, wants: 4 },
  };
  const next = shareUse(use, 'p2', more, now);
  expect(next.share.concurrent).toEqual({ places: 4, taken: 4 });
  expect(next.share.rates.requests).toMatchObject({ granted: 0 });
  expect(shareUse(next.use, 'p2', more, now + 60_000).share.rates.requests).toMatchObject({ granted: 10 });
});
