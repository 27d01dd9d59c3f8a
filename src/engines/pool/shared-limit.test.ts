import { describe, expect, it } from 'vitest';
import { lognormal } from '../../../test/support/slot-server.ts';
import { leaseSlots, type SlotLease } from '../../core/slot-leases.ts';
import { createConcurrencyLimit, type ConcurrencyLimit } from './concurrency/concurrency-limit.ts';
import type { SentRequest } from './concurrency/measurement.ts';

const slots = 64;
const renewMs = 250;
const seeds = [1, 2, 3, 4, 5];

/** A process that sends all it may to a server that others ask, too. */
interface Process {
  name: string;
  limit: ConcurrencyLimit;
  lines: number;
  others: number;
  inFlight: number;
  renewsAt: number;
}

interface Call {
  of: Process;
  sent: SentRequest;
  endsAt: number;
}

/** Load by second of a server with unknown slots, to which processes start sending at those times. */
function fillTogether(beginAt: readonly number[], seconds: number, timeOf: () => number) {
  let now = 0;
  let leases: SlotLease[] = [];
  const working: Call[] = [];
  const queue: Call[] = [];
  const busy = Array.from({ length: seconds }, () => 0);
  let longestQueue = 0;
  const all = beginAt.map((renewsAt, at): Process => {
    return {
      name: `p${at}`,
      limit: createConcurrencyLimit(null, () => now),
      lines: 0,
      others: 0,
      inFlight: 0,
      renewsAt,
    };
  });

  function renew(one: Process): void {
    const { maxInFlight: most } = one.limit;
    const ask = { limit: most, wants: most, inFlight: one.inFlight, discovered: { gpu: most } };
    const renewed = leaseSlots(leases, one.name, ask, now);
    leases = renewed.leases;
    one.lines = renewed.share.lines;
    one.others = renewed.share.others;
    one.limit.followPeer(renewed.share.discovered?.gpu ?? null);
    one.renewsAt = now + renewMs;
  }

  function begin(): void {
    while (queue.length > 0 && working.length < slots) {
      const call = queue.shift()!;
      call.endsAt = now + timeOf();
      working.push(call);
    }
  }

  function send(): void {
    for (const one of all)
      for (; one.inFlight < one.lines; one.inFlight++)
        queue.push({ of: one, sent: one.limit.sent(one.others), endsAt: 0 });
    begin();
    longestQueue = Math.max(longestQueue, queue.length);
  }

  while (now < seconds * 1000) {
    const next = working.length > 0 ? least(working, ({ endsAt }) => endsAt) : undefined;
    const asks = least(all, ({ renewsAt }) => renewsAt);
    const at = Math.min(next?.endsAt ?? Infinity, asks.renewsAt);
    busy[Math.floor(now / 1000)]! += ((at - now) * working.length) / (slots * 1000);
    now = at;
    if (next && next.endsAt === at) {
      working.splice(working.indexOf(next), 1);
      begin();
      const { of: one, sent } = next;
      one.inFlight--;
      one.limit.answered(sent, { at: now, work: 1 });
    } else renew(asks);
    send();
  }
  return { busy, longestQueue, found: all.map(({ limit }) => limit.maxInFlight) };
}

describe('processes that share a server with unknown slots', () => {
  it.each([2, 3, 5])('discover them together: %i', (processes) => {
    const starts = Array.from({ length: processes }, (_, at) => at * 37);
    const served = seeds.map((seed) => fillTogether(starts, 20, lognormal(50, 0.2, seed)));
    const queues = served.map(({ longestQueue }) => longestQueue / slots).toSorted((a, b) => a - b);
    expect(queues[seeds.length >> 1]).toBeLessThanOrEqual(1.25);
    expect(mean(served.map(({ busy }) => mean(busy.slice(10))))).toBeGreaterThanOrEqual(0.9);
    for (const { found } of served) expect(Math.max(...found) / Math.min(...found)).toBeLessThanOrEqual(1.3);
  });

  it('start from what others discovered', () => {
    const slowest = seeds.map((seed) => {
      const { busy } = fillTogether([0, 10_000], 15, lognormal(50, 0.2, seed));
      return Math.min(...busy.slice(6));
    });
    expect(mean(slowest)).toBeGreaterThanOrEqual(0.85);
  });
});

function least<T>(all: readonly T[], of: (one: T) => number): T {
  return all.reduce((found, one) => (of(one) < of(found) ? one : found));
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}
