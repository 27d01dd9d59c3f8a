import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { createMemoryStore, type MemoryStore } from '../../test/support/memory-store.ts';
import { sleep } from '../base/clock.ts';
import { silent } from '../base/log.ts';
import { ApiError } from '../core/errors.ts';
import type { RequestLimits } from '../core/limits.ts';
import { drain, emptyMeter, fill, waitFor } from '../core/rates.ts';
import { createRequestLimiter } from './create-limiter.ts';
import type { Admission, RequestLimiter, TokenAmounts } from './limiter.ts';
import { createSharedSubjects } from './subjects.ts';

// Several processes on one database.

const none = { inputTokens: 0, outputTokens: 0 };

class World {
  clock: ManualClock = createManualClock();
  store: MemoryStore = createMemoryStore({ clock: this.clock });
  queries = 0;
  fails = false;
  /** Time of the way to the database, and of the way back. */
  delayMs = 0;
  processes: RequestLimiter[] = [];

  async start(count: number) {
    await this.store.start();
    for (let at = 0; at < count; at++) this.processes.push(this.process(`p${at}`));
    await Promise.all(this.processes.map((each) => each.start()));
    return this;
  }

  process(name: string): RequestLimiter {
    const { clock } = this;
    const store = {
      read: (ids: readonly string[]) => this.store.limits.read(ids),
      removeUnused: (before: number) => this.store.limits.removeUnused(before),
      share: async (...args: Parameters<typeof this.store.limits.share>) => {
        this.queries++;
        if (this.fails) throw new Error('down');
        const { delayMs } = this;
        if (delayMs > 0) await sleep(clock, delayMs);
        const shares = await this.store.limits.share(...args);
        if (delayMs > 0) await sleep(clock, delayMs);
        return shares;
      },
    };
    const subjects = createSharedSubjects({ store, process: name, clock, log: silent });
    return createRequestLimiter({ clock, defaults: { org: {}, key: {} }, subjects });
  }

  /** Result of one request at a process. */
  async attempt(at: number, org: RequestLimits, tokens: TokenAmounts = none): Promise<Admission | ApiError> {
    const caller = { orgId: 'org_a', keyId: 'key_a', scopes: [], models: null, limits: { org, key: {} } };
    try {
      return await this.processes[at]!.admit(caller, () => tokens);
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }

  async admitted(at: number, count: number, org: RequestLimits): Promise<Admission[]> {
    const all = await Promise.all(Array.from({ length: count }, () => this.attempt(at, org)));
    return all.filter((each): each is Admission => !(each instanceof ApiError));
  }

  async stop() {
    await Promise.all(this.processes.map((each) => each.stop()));
    await this.store.stop();
  }
}

let world: World;
afterEach(() => world.stop());

describe('a rate that processes share', () => {
  it('admits 100 to 102 of 200 concurrent requests at two processes', async () => {
    world = await new World().start(2);
    const org = { requestsPerMinute: 100 };
    const [a, b] = await Promise.all([world.admitted(0, 100, org), world.admitted(1, 100, org)]);
    expect(a.length + b.length).toBe(100);
    await world.clock.advance(600);
    const more = await Promise.all([world.admitted(0, 5, org), world.admitted(1, 5, org)]);
    expect(more.flat()).toHaveLength(1);
  });

  it('is whole for one process when the other is idle', async () => {
    world = await new World().start(2);
    const org = { requestsPerMinute: 60 };
    expect(await world.admitted(0, 60, org)).toHaveLength(60);
    await world.clock.advance(60_000);
    // Process 0 has returned the share that it kept for another second like the first one.
    expect((await world.admitted(1, 99, org)).length).toBeGreaterThanOrEqual(59);
  });

  it('needs no query for a steady load once it is known', async () => {
    world = await new World().start(2);
    const org = { requestsPerMinute: 6_000 };
    for (let second = 0; second < 3; second++) {
      await world.admitted(0, 50, org);
      await world.clock.advance(1_000);
    }
    const before = world.queries;
    for (let at = 0; at < 50; at++) expect(await world.admitted(0, 1, org)).toHaveLength(1);
    expect(world.queries).toBe(before);
  });

  it('refuses without a query while it is used up', async () => {
    world = await new World().start(2);
    const org = { requestsPerMinute: 10 };
    await world.admitted(0, 20, org);
    const before = world.queries;
    const refused = (await world.attempt(0, org)) as ApiError;
    expect(refused.retryAfter).toBe(6);
    await world.admitted(0, 500, org);
    expect(world.queries).toBe(before);
  });

  it('never admits more than one process would, except for two seconds of it, whatever happens', async () => {
    const step = fc.record({
      ms: fc.integer({ min: 0, max: 3_000 }),
      at: fc.nat({ max: 2 }),
      tries: fc.integer({ min: 0, max: 40 }),
      delayMs: fc.integer({ min: 0, max: 400 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 600 }),
        fc.array(step, { maxLength: 25 }),
        async (...row) => {
          const [limit, steps] = row;
          const here = await new World().start(3);
          const all = emptyMeter();
          const tryOne = async (at: number) => {
            if ((await here.attempt(at, { requestsPerMinute: limit })) instanceof ApiError) return;
            drain(all, limit, here.clock.monotonic());
            // Shares of the last second may be used together with what has drained since.
            expect(waitFor(all, limit, 1)).toBeLessThanOrEqual(2_000);
            fill(all, 1);
          };
          const tried: Promise<void>[] = [];
          for (const { ms, at, tries, delayMs } of steps) {
            here.delayMs = delayMs;
            for (let one = 0; one < tries; one++) tried.push(tryOne(at));
            await here.clock.advance(ms);
          }
          here.delayMs = 0;
          await here.clock.advance(20_000);
          await Promise.all(tried);
          await here.stop();
        },
      ),
      { numRuns: 60 },
    );
    world = await new World().start(1);
  });

  it('is used up by overload at both processes, with no share lost', async () => {
    world = await new World().start(2);
    const org = { requestsPerMinute: 600 };
    let admitted = 0;
    for (let tick = 0; tick < 600; tick++) {
      const both = await Promise.all([world.admitted(0, 3, org), world.admitted(1, 1, org)]);
      admitted += both.flat().length;
      await world.clock.advance(100);
    }
    // 600 at once, and 600 in a minute.
    expect(admitted).toBeLessThanOrEqual(1_200);
    expect(admitted).toBeGreaterThan(1_150);
  });

  it('carries tokens used beyond the estimate over to the other process', async () => {
    world = await new World().start(2);
    const org = { outputTokensPerMinute: 1_000 };
    const first = (await world.attempt(0, org, { inputTokens: 0, outputTokens: 10 })) as Admission;
    first.end({ inputTokens: 0, outputTokens: 1_500 });
    // By then the process has also returned the share that it kept for a second like that.
    await world.clock.advance(3_000);
    expect(await world.attempt(1, org, { inputTokens: 0, outputTokens: 10 })).toBeInstanceOf(ApiError);
    await world.clock.advance(30_000);
    expect(await world.attempt(1, org, { inputTokens: 0, outputTokens: 10 })).not.toBeInstanceOf(ApiError);
  });

  it('is returned by a process that stops', async () => {
    world = await new World().start(2);
    const org = { inputTokensPerMinute: 1_000 };
    const first = (await world.attempt(0, org, { inputTokens: 900, outputTokens: 0 })) as Admission;
    first.end({ inputTokens: 100, outputTokens: 0 });
    await world.processes[0]!.stop();
    expect(await world.attempt(1, org, { inputTokens: 900, outputTokens: 0 })).not.toBeInstanceOf(ApiError);
  });

  it('fails with the database, and works again after it', async () => {
    world = await new World().start(1);
    world.fails = true;
    await expect(world.attempt(0, { requestsPerMinute: 10 })).rejects.toThrow('down');
    world.fails = false;
    expect(await world.admitted(0, 20, { requestsPerMinute: 10 })).toHaveLength(10);
  });
});

describe('concurrent requests that processes share', () => {
  const org = { concurrentRequests: 10 };

  it('are at most the limit together, and move to where they are needed', async () => {
    world = await new World().start(2);
    const first = await world.admitted(0, 8, org);
    expect(first).toHaveLength(8);
    expect(await world.admitted(1, 8, org)).toHaveLength(2);
    for (const each of first) each.end(none);
    expect(await world.admitted(1, 1, org)).toHaveLength(0);
    await world.clock.advance(3_000);
    expect(await world.admitted(1, 20, org)).toHaveLength(8);
    expect(await world.admitted(0, 20, org)).toHaveLength(0);
  });

  it('of a process that died are free after some seconds', async () => {
    world = await new World().start(2);
    const dead = createManualClock();
    await world.store.limits.share(
      'dead',
      { org_a: { rates: {}, concurrent: { limit: 10, inFlight: 9, wants: 0 } } },
      dead.now(),
    );
    expect(await world.admitted(1, 20, org)).toHaveLength(1);
    await world.clock.advance(6_000);
    expect(await world.admitted(1, 20, org)).toHaveLength(9);
  });

  it('stay within the limit at every moment, whatever happens', async () => {
    const step = fc.record({
      ms: fc.integer({ min: 0, max: 2_000 }),
      at: fc.nat({ max: 2 }),
      starts: fc.integer({ min: 0, max: 8 }),
      ends: fc.integer({ min: 0, max: 8 }),
      delayMs: fc.integer({ min: 0, max: 400 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const here = await new World().start(3);
        const inFlight: Admission[] = [];
        const tryOne = async (at: number) => {
          const result = await here.attempt(at, org);
          if (result instanceof ApiError) return;
          inFlight.push(result);
          expect(inFlight.length).toBeLessThanOrEqual(10);
        };
        const tried: Promise<void>[] = [];
        for (const { ms, at, starts, ends, delayMs } of steps) {
          here.delayMs = delayMs;
          for (const each of inFlight.splice(0, ends)) each.end(none);
          for (let one = 0; one < starts; one++) tried.push(tryOne(at));
          await here.clock.advance(ms);
        }
        here.delayMs = 0;
        await here.clock.advance(20_000);
        await Promise.all(tried);
        await here.stop();
      }),
      { numRuns: 60 },
    );
    world = await new World().start(1);
  });
});

describe('a request that ends after its process stopped using the limit', () => {
  const org = { outputTokensPerMinute: 10_000 };
  const asked = (outputTokens: number) => ({ inputTokens: 0, outputTokens });
  const admit = async (outputTokens: number) => {
    const admission = await world.attempt(0, org, asked(outputTokens));
    if (admission instanceof ApiError) throw admission;
    return admission;
  };

  it('and used more than the limit delays later requests only until its use has drained', async () => {
    world = await new World().start(1);
    const long = await admit(1_000);
    await world.clock.advance(60_000);
    long.end(asked(12_000));
    expect(await world.attempt(0, org, asked(1_000))).toMatchObject({ code: 'rate_limit_exceeded' });
    await world.clock.advance(60_000);
    await admit(1_000);
  });

  it('and used less than its estimate leaves no more than the limit', async () => {
    world = await new World().start(1);
    const long = await admit(10_000);
    await world.clock.advance(60_000);
    long.end(asked(100));
    await world.clock.advance(3_600_000);
    await admit(10_000);
    expect(await world.attempt(0, org, asked(1_000))).toBeInstanceOf(ApiError);
  });
});

describe('the use of limits', () => {
  const limits = { requestsPerMinute: 60, concurrentRequests: 10 };
  const read = (at: number) =>
    world.processes[at]!.read([{ id: 'org_a', limits }]).then(([uses]) =>
      Object.fromEntries(uses!.map((use) => [use.name, use])),
    );
  const used = async (at: number) => {
    const { requests_per_minute: rate, concurrent_requests: places } = await read(at);
    return [rate!.used, places!.used];
  };

  it('is the sum over all processes, and reading it takes no share', async () => {
    world = await new World().start(3);
    expect(await used(0)).toEqual([0, 0]);
    const first = await world.admitted(0, 4, limits);
    await world.admitted(1, 2, limits);
    for (const at of [0, 1, 2]) expect(await used(at)).toEqual([6, 6]);
    for (const each of first) each.end(none);
    // Three have drained; of the share that each process took for its second second, one is not returned.
    await world.clock.advance(3_000);
    for (const at of [0, 1, 2]) expect(await used(at)).toEqual([5, 2]);
    expect(await world.admitted(2, 60, limits)).toHaveLength(8);
  });

  it('has the times at which something and everything is free', async () => {
    world = await new World().start(2);
    expect((await read(0)).requests_per_minute).toMatchObject({ used: 0, waitMs: 0, resetMs: 0 });
    for (const each of await world.admitted(0, 60, { requestsPerMinute: 60 })) each.end(none);
    expect((await read(1)).requests_per_minute).toMatchObject({ used: 60, waitMs: 1_000, resetMs: 60_000 });
    await world.clock.advance(30_000);
    expect((await read(1)).requests_per_minute).toMatchObject({ used: 31, waitMs: 0, resetMs: 31_000 });
    const [uses] = await world.processes[0]!.read([{ id: 'org_a', limits: { requestsPerMinute: 0 } }]);
    expect(uses).toEqual([{ name: 'requests_per_minute', limit: 0, used: 0, waitMs: null, resetMs: null }]);
  });

  it('may exceed a limit on tokens', async () => {
    world = await new World().start(2);
    const tokens = { outputTokensPerMinute: 100 };
    const admission = await world.attempt(0, tokens, { inputTokens: 0, outputTokens: 50 });
    const tokensOf = (at: number) => world.processes[at]!.read([{ id: 'org_a', limits: tokens }]);
    expect((await tokensOf(1))[0]).toMatchObject([{ used: 50 }]);
    (admission as Admission).end({ inputTokens: 0, outputTokens: 250 });
    expect((await tokensOf(0))[0]).toMatchObject([{ used: 250, resetMs: 150_000 }]);
    await world.clock.advance(1_000);
    expect((await tokensOf(1))[0]).toMatchObject([{ used: 249, waitMs: 89_600 }]);
  });
});
