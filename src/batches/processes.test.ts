import { expect, it } from 'vitest';
import { toProcess } from './processes.ts';

const state = {
  id: 'wrk_1',
  beatAt: 100_000,
  load: { interactive: { a: 1, b: 2 } },
  chunks: 2,
  lines: 128,
  slots: [
    { model: 'a', slots: 4, until: 102_000 },
    { model: 'b', slots: 0, until: 102_000 },
  ],
};

it('a process is silent once others may take its work, and its lapsed leases of slots are gone', () => {
  expect(toProcess(state, 101_000)).toEqual({
    id: 'wrk_1',
    info: null,
    role: 'all',
    seenAt: 100_000,
    isAlive: true,
    models: [],
    inFlight: { lines: 0, requests: 3 },
    leased: { chunks: 2, lines: 128 },
    slots: [{ model: 'a', slots: 4, until: 102_000 }],
  });
  expect(toProcess(state, 102_000).slots).toEqual([]);
  expect([129_999, 130_000].map((now) => toProcess(state, now).isAlive)).toEqual([true, false]);
});
