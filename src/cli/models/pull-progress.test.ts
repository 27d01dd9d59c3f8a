import { expect, it } from 'vitest';
import { createRateMeter } from './pull-progress.ts';
import { showCount } from './model-files.ts';

it('is what came in the last seconds', () => {
  let now = 0;
  const pace = createRateMeter({
    now: () => now,
    monotonic: () => now,
    arrival: () => now,
    after: () => ({ cancel() {} }),
  });
  expect(pace.at(0)).toBe(0);
  now = 100;
  expect(pace.at(50_000)).toBe(0);
  now = 1000;
  expect(pace.at(1_000_000)).toBe(1_000_000);
  for (now = 2000; now <= 20_000; now += 1000) pace.at(1_000_000);
  expect(pace.at(1_000_000)).toBe(0);
  // A restarted download has no negative rate.
  now += 1000;
  expect(pace.at(0)).toBe(0);
});

it.each([
  [0, '0'],
  [943_232, '943 thousand'],
  [999_999, '1.00 million'],
  [7_248_000_000, '7.25 billion'],
])('%d parameters', (count, shown) => expect(showCount(count)).toBe(shown));
