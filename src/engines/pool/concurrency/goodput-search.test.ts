import { describe, expect, it } from 'vitest';
import {
  lognormal,
  seededFloats,
  simulateLoad,
  type LoadResult,
  type SlotServer,
} from '../../../../test/support/slot-server.ts';
import { createConcurrencyLimit } from './concurrency-limit.ts';
import { createGoodputSearch } from './goodput-search.ts';

const rounds = 160;

/** A server that does not tell how many slots it has. */
function serveUntold(requests: number, server: SlotServer): LoadResult {
  return simulateLoad(requests, server, (now) => createConcurrencyLimit(null, now));
}

/** Answers that take 50 ms, all at the same instant or up to 5 % apart. */
function steady(slots: number, jitter: number, requests = slots * rounds): LoadResult {
  const random = seededFloats(7);
  return serveUntold(requests, {
    slots: () => slots,
    serviceMs: () => 50 * (1 + jitter * (2 * random() - 1)),
  });
}

function mean(numbers: number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

describe.each([
  { answers: 'in step', jitter: 0 },
  { answers: 'slightly apart', jitter: 0.05 },
])('slots of a server with constant times, answers $answers', ({ jitter }) => {
  it.each([
    [16, 0.96],
    [32, 0.96],
    [64, 0.96],
    [100, 0.95],
    [256, 0.92],
    [512, 0.9],
  ])('keeps %i slots used', (slots, fill) => {
    const served = steady(slots, jitter);
    expect(served.fill).toBeGreaterThanOrEqual(fill);
    expect(served.longestQueue / slots).toBeLessThanOrEqual(slots < 50 ? 0.85 : 0.6);
    expect(served.slots.at(-1)! / slots).toBeGreaterThanOrEqual(0.8);
    expect(served.slots.at(-1)! / slots).toBeLessThanOrEqual(1.3);
  });

  it('never queues much more than the slots, whatever their number', () => {
    const queues = Array.from({ length: 60 }, (_, index) => {
      const slots = 16 + index * 3;
      return steady(slots, jitter).longestQueue / slots;
    });
    expect(Math.max(...queues)).toBeLessThanOrEqual(1.3);
    expect(queues.filter((queue) => queue > 0.75).length).toBeLessThanOrEqual(queues.length / 10);
  });

  it.each([1, 2, 3, 4, 5, 6, 7])('comes down to few slots: %i', (slots) => {
    const served = steady(slots, jitter, Math.max(slots * rounds, 640));
    expect(served.fill).toBeGreaterThanOrEqual(0.93);
    expect(served.slots.at(-1)).toBeLessThanOrEqual(slots + Math.max(2, slots / 4));
  });
});

describe('slots of a server with lognormal times', () => {
  it.each([
    { slots: 16, seeds: 20, atMean: 0.94, atWorst: 0.8, queue: 1.2 },
    { slots: 64, seeds: 20, atMean: 0.94, atWorst: 0.85, queue: 0.5 },
    { slots: 200, seeds: 8, atMean: 0.92, atWorst: 0.85, queue: 0.5 },
  ])('keeps $slots used', ({ slots, seeds, atMean, atWorst, queue }) => {
    const all = Array.from({ length: seeds }, (_, seed) =>
      serveUntold(slots * rounds, { slots: () => slots, serviceMs: lognormal(50, 0.6, seed) }),
    );
    expect(mean(all.map(({ fill }) => fill))).toBeGreaterThanOrEqual(atMean);
    expect(Math.min(...all.map(({ fill }) => fill))).toBeGreaterThanOrEqual(atWorst);
    const queues = all.map(({ longestQueue }) => longestQueue / slots).toSorted((a, b) => a - b);
    expect(queues[seeds >> 1]).toBeLessThanOrEqual(queue);
    const found = all.map((one) => one.slots.at(-1)! / slots);
    expect(mean(found)).toBeGreaterThan(0.9);
    expect(mean(found)).toBeLessThan(slots < 50 ? 1.7 : 1.3);
    if (slots >= 50)
      expect(found.filter((one) => one < 0.8 || one > 1.4).length).toBeLessThanOrEqual(seeds / 5);
  });
});

describe('requests that wait at a server with slots', () => {
  it.each([
    { slots: 16, sigma: 0.3 },
    { slots: 64, sigma: 0.01 },
    { slots: 64, sigma: 0.3 },
  ])('stay few after a climb past them: $slots, sigma $sigma', ({ slots, sigma }) => {
    const held = Array.from({ length: 10 }, (_, seed) => {
      const served = serveUntold(slots * 60, {
        slots: () => slots,
        serviceMs: lognormal(250, sigma, seed + 1),
      });
      // The climb is over after a third of the requests.
      return mean(served.slots.slice(33)) / slots;
    });
    expect(mean(held)).toBeLessThanOrEqual(1.2);
    expect(mean(held)).toBeGreaterThanOrEqual(1);
  });
});

describe('slots of a server with answers of two kinds', () => {
  it.each([64, 200])('does not mistake the first long answers for a queue: %i slots', (slots) => {
    const fills = Array.from({ length: 20 }, (_, seed) => {
      const random = seededFloats(seed + 1);
      const timeOf = () => (random() < 0.2 ? 300 : 30) * (0.95 + 0.1 * random());
      return serveUntold(slots * rounds, { slots: () => slots, serviceMs: timeOf }).fill;
    });
    expect(mean(fills)).toBeGreaterThanOrEqual(slots < 100 ? 0.88 : 0.85);
    expect(Math.min(...fills)).toBeGreaterThanOrEqual(0.8);
  });
});

describe('slots of a server whose answers wait here to be read', () => {
  /** A process whose code is cold, and slow to read answers. */
  const readMs = (answers: number) => 0.3 + 2 * Math.exp(-answers / 300);

  it.each([
    { slots: 16, sigma: 0.05, fill: 0.98 },
    { slots: 64, sigma: 0.05, fill: 0.94 },
    { slots: 64, sigma: 0.6, fill: 0.92 },
    { slots: 100, sigma: 0.6, fill: 0.91 },
  ])('are not thought to be more: $slots, sigma $sigma', ({ slots, sigma, fill }) => {
    const all = Array.from({ length: 20 }, (_, seed) =>
      serveUntold(slots * rounds, { slots: () => slots, serviceMs: lognormal(50, sigma, seed), readMs }),
    );
    expect(mean(all.map((one) => one.fill))).toBeGreaterThanOrEqual(fill);
    const queues = all.map(({ longestQueue }) => longestQueue / slots).toSorted((a, b) => a - b);
    expect(queues[10]).toBeLessThanOrEqual(0.7);
    expect(queues[18]).toBeLessThanOrEqual(1.1);
  });
});

describe('slots of a server that batches', () => {
  it.each([
    { batch: 64, slowedBy: 64 },
    { batch: 64, slowedBy: 32 },
    { batch: 64, slowedBy: 256 },
    { batch: 256, slowedBy: 256 },
    { batch: 256, slowedBy: 128 },
  ])('finds a batch of $batch where $slowedBy more double the time', ({ batch, slowedBy }) => {
    const served = serveUntold(batch * rounds, {
      slots: () => batch,
      serviceMs: (_work, running) => 20 * (1 + running / slowedBy),
    });
    expect(served.slots.at(-1)! / batch).toBeGreaterThanOrEqual(0.8);
    expect(served.slots.at(-1)! / batch).toBeLessThanOrEqual(1.4);
  });
});

describe('slots of a server with requests of many sizes', () => {
  it.each([1, 2, 3, 4, 5, 6])('does not mistake long requests for a queue, seed %i', (seed) => {
    const random = seededFloats(seed);
    const served = serveUntold(64 * rounds, {
      slots: () => 64,
      drawWork: () => (random() < 0.5 ? 1 : 1 + 19 * random()),
      serviceMs: (work) => 10 + 8 * work,
    });
    expect(served.fill).toBeGreaterThanOrEqual(0.88);
    expect(served.maxInFlight.at(-1)! / 64).toBeLessThanOrEqual(2.25);
  });
});

describe('slots that change', () => {
  it.each([
    { before: 64, after: 32 },
    { before: 64, after: 128 },
    { before: 200, after: 100 },
    { before: 200, after: 400 },
    { before: 16, after: 32 },
  ])('are followed from $before to $after', ({ before, after }) => {
    const served = serveUntold(before * 60 + after * 100, {
      slots: (now) => (now < 60 * 50 ? before : after),
      serviceMs: () => 50,
    });
    expect(served.fill).toBeGreaterThanOrEqual(0.9);
    expect(served.slots.at(-1)! / after).toBeGreaterThanOrEqual(0.8);
    expect(served.slots.at(-1)! / after).toBeLessThanOrEqual(1.5);
  });

  it.each([
    { before: 16, after: 128, fill: 0.82 },
    { before: 32, after: 256, fill: 0.79 },
    { before: 64, after: 400, fill: 0.82 },
  ])('are soon used when many are added: from $before to $after', ({ before, after, fill }) => {
    const served = serveUntold(before * 60 + after * 100, {
      slots: (now) => (now < 60 * 50 ? before : after),
      serviceMs: () => 50,
    });
    expect(served.fill).toBeGreaterThanOrEqual(fill);
    expect(served.longestQueue / after).toBeLessThanOrEqual(0.6);
  });

  it('are kept while there is little to do', () => {
    let now = 0;
    const finder = createGoodputSearch(() => now);
    for (let request = 0; request < 2000; request++) {
      const sent = finder.sent();
      // Whatever a lone request takes.
      now += request < 1000 ? 50 : 500;
      finder.answered(sent, { at: now, work: 1 }, Number.POSITIVE_INFINITY);
    }
    expect(finder).toMatchObject({ limit: 8 });
  });

  it('are not raised while the server reports a queue', () => {
    const served = simulateLoad(64 * 40, { slots: () => 64, serviceMs: () => 50 }, (now) => {
      const limit = createConcurrencyLimit(null, now);
      limit.applyReport({ slots: null, queued: 3 });
      return limit;
    });
    expect(Math.max(...served.maxInFlight)).toBeLessThanOrEqual(9);
  });
});
