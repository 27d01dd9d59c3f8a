import { beforeEach, describe, expect, it } from 'vitest';
import { claimedChunk, noEffects, runningBatch } from '../../../test/support/claimed-chunk.ts';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import type { BatchPause } from '../../core/controls.ts';
import { createCatalog } from '../../core/model.ts';
import type { WaitingCause } from '../../core/waiting.ts';
import { noAttempts } from '../claimed/retry-policy.ts';
import { ClaimDemand } from './claim-demand.ts';
import { LocalWork } from '../claimed/local-work.ts';
import { asLate } from '../../core/urgency.ts';

const prices = { input: 0, cachedInput: 0, output: 0 };

describe('Demand', () => {
  let work: LocalWork;
  let recorder: { hasRoom: boolean };
  let affinity: { missingChunks(model: string): number };
  let room: number;
  let waiting: WaitingCause | null;
  let others: { serve: boolean; send: boolean };
  let lost: string[];
  let pause: BatchPause | null;
  let share: number;
  let clock: ManualClock;
  let demand: ClaimDemand;

  beforeEach(() => {
    clock = createManualClock();
    work = new LocalWork(clock, noEffects);
    recorder = { hasRoom: true };
    affinity = { missingChunks: () => 0 };
    room = 8;
    waiting = null;
    others = { serve: true, send: true };
    lost = [];
    pause = null;
    share = 1;
    const missing = {
      get lost() {
        return lost;
      },
      isLost: (model: string) => lost.includes(model),
    };
    const catalog = createCatalog([{ id: 'm', aliases: ['alias'], serves: ['chat'], prices, createdAt: 0 }]);
    demand = new ClaimDemand({
      catalog,
      capacity: { room: () => room, limit: () => 10, waiting: () => waiting },
      peers: { isServedElsewhere: () => others.serve, isAvailableElsewhere: () => others.send },
      hours: { share: () => share },
      controls: { pausing: (orgId) => (orgId === 'org_1' ? pause : null) },
      missing,
      work,
      affinity,
      recorder,
      clock,
    });
  });

  it('has the room of the engine, less the lines that are starting', () => {
    expect(demand.room('m')).toBe(8);
    demand.starting.add('m', 1);
    expect(demand.room('m')).toBe(7);
    demand.starting.add('m', -1);
    expect(demand.room('m')).toBe(8);
  });

  it('sends nothing, and claims nothing, while answers cannot be recorded', () => {
    recorder.hasRoom = false;
    expect([demand.room('m'), demand.wants('m')]).toEqual([0, false]);
  });

  it('claims up to 64 lines more than there is room for', () => {
    work.chunks.add(claimedChunk({ seq: 1, lines: 71 }));
    expect(demand.wants('m')).toBe(true);
    work.chunks.add(claimedChunk({ seq: 2, lines: 1 }));
    expect(demand.wants('m')).toBe(false);
  });

  it('claims the answers of a quarter of a second ahead for a fast engine, and no more than it has answered', async () => {
    const linesAfter = async (answered: number, ms: number) => {
      demand.wanted();
      for (let n = 0; n < answered; n++) demand.answered('m');
      await clock.advance(ms);
      return demand.wanted()[0]!.lines;
    };
    expect(await linesAfter(100, 50)).toBe(72 + 100);
    expect(await linesAfter(1_000, 1_000)).toBe(72 + 250);
    expect(await linesAfter(10_000, 1_000)).toBe(72 + 512);
    expect(await linesAfter(64, 30_000)).toBe(72);
  });

  it('claims 64 ahead while the engine is full or overfull, or takes nothing', () => {
    room = -5;
    work.chunks.add(claimedChunk({ seq: 1, lines: 63 }));
    expect([demand.room('m'), demand.wants('m')]).toEqual([-5, true]);
    work.chunks.add(claimedChunk({ seq: 2, lines: 1 }));
    expect(demand.wants('m')).toBe(false);
  });

  it('claims more lines where slots still lack a prefix of their own', () => {
    work.chunks.add(claimedChunk({ seq: 1, lines: 100 }));
    expect(demand.wants('m')).toBe(false);
    affinity.missingChunks = () => 2;
    expect(demand.wants('m')).toBe(true);
    expect(demand.wanted()).toMatchObject([{ lines: 0, chunks: 2 }]);
  });

  it('requests all models at once, under every name', () => {
    lost = ['gone'];
    expect(demand.wanted()).toMatchObject([
      { model: 'm', names: ['m', 'alias'], lines: 72, chunks: 0, claimedDue: {}, moreOrgs: 64 },
      { model: 'gone', names: ['gone'], lines: 128, chunks: 0, claimedDue: {}, moreOrgs: 64 },
    ]);
  });

  it('requests one more chunk that is due before the claimed ones of its org', () => {
    const batch = (orgId: string, due: number) => runningBatch({ id: `${orgId} ${due}`, orgId, due });
    work.chunks.add(claimedChunk({ seq: 1, batch: batch('a', 5), lines: 60 }));
    work.chunks.add(claimedChunk({ seq: 2, batch: batch('a', 4), lines: 60 }));
    work.chunks.add(claimedChunk({ seq: 3, batch: batch('b', 9), lines: 1 }));
    expect(demand.wanted()).toMatchObject([
      { model: 'm', names: ['m', 'alias'], lines: 0, chunks: 0, claimedDue: { a: 4, b: 9 }, moreOrgs: 62 },
    ]);
  });

  it('requests lines of further orgs, however many lines of others are claimed', () => {
    work.chunks.add(claimedChunk({ seq: 1, lines: 500 }));
    expect(demand.wanted()).toMatchObject([{ lines: 0, claimedDue: { org_1: 0 }, moreOrgs: 63 }]);
    for (let n = 2; n <= 70; n++)
      work.chunks.add(claimedChunk({ seq: n, batch: runningBatch({ id: `b${n}`, orgId: `org_${n}` }) }));
    expect(demand.wanted()).toMatchObject([{ moreOrgs: 0 }]);
  });

  it('requests late chunks of further orgs, however many orgs have claimed lines', () => {
    for (let n = 1; n <= 70; n++) {
      const due = n % 10 === 0 ? asLate(n) : n;
      work.chunks.add(claimedChunk({ seq: n, batch: runningBatch({ id: `b${n}`, orgId: `org_${n}`, due }) }));
    }
    expect(demand.wanted()).toMatchObject([{ lines: 0, moreOrgs: 0, moreLateOrgs: 9 }]);
  });

  it('does not take an org whose lines wait for a server as one without claimed lines', () => {
    const parked = claimedChunk({ seq: 1, batch: runningBatch({ id: 'b', orgId: 'small' }), lines: 1 });
    work.chunks.add(parked);
    work.park(work.send(parked)!);
    expect(demand.wanted()).toMatchObject([{ claimedDue: { small: 0 } }]);
  });

  it('wants nothing for names that became aliases, or that this process no longer serves', () => {
    work.chunks.add(claimedChunk({ model: 'alias' }));
    work.chunks.add(claimedChunk({ model: 'left', seq: 2 }));
    expect(demand.models()).toEqual(['m']);
    expect(demand.wanted().map(({ model }) => model)).toEqual(['m']);
  });

  it('does not request a model without ready chunks again before the next wake-up', () => {
    demand.noteDry('m');
    expect(demand.wants('m')).toBe(false);
    demand.refresh();
    expect(demand.wants('m')).toBe(true);
  });

  it('sends and claims nothing outside of the hours of a model', () => {
    share = 0;
    expect([demand.models(), demand.wanted()]).toEqual([[], []]);
  });

  it('sends no more than its share there', () => {
    share = 0.25;
    expect([demand.limit('m'), demand.room('m')]).toEqual([3, 3]);
    const claimed = claimedChunk({ lines: 4 });
    work.chunks.add(claimed);
    work.send(claimed);
    expect(demand.room('m')).toBe(2);
    room = 1;
    expect(demand.room('m')).toBe(1);
  });

  describe('of a model that takes nothing here, while others serve it', () => {
    const refused = (code: WaitingCause['code']): WaitingCause => ({
      scope: 'account',
      code,
      message: 'No such key.',
      since: clock.now(),
    });

    beforeEach(() => {
      waiting = refused('upstream_error');
      room = 0;
      affinity.missingChunks = () => 3;
    });

    it('claims the line alone that tries, also after lines were answered', async () => {
      expect(demand.wanted()).toEqual([]);
      waiting = null;
      demand.wanted();
      for (let n = 0; n < 500; n++) demand.answered('m');
      await clock.advance(1_000);
      waiting = refused('upstream_error');
      room = 1;
      expect(demand.wanted()).toMatchObject([
        { lines: 1, chunks: 0, claimedDue: {}, moreOrgs: 0, moreLateOrgs: 0 },
      ]);
      work.chunks.add(claimedChunk({ lines: 2 }));
      expect(demand.wanted()).toEqual([]);
    });

    it('yields claimed chunks to peers, unless they may be probed now or have a history', async () => {
      const claimed = claimedChunk({});
      const models = new Set(['m']);
      const shouldRelease = () => demand.shouldRelease(claimed, models);
      expect(shouldRelease()).toBe(true);
      room = 1;
      expect(shouldRelease()).toBe(false);
      room = 0;
      claimed.count.sent = 1;
      expect(shouldRelease()).toBe(false);
      claimed.count.sent = 0;
      const last = { at: 0, answers: 0, breaks: 0, upstreamMessage: undefined };
      claimed.lines[0]!.attempts = { ...noAttempts, last };
      expect(shouldRelease()).toBe(false);
      // One that died is known to be dead by then.
      await clock.advance(34_999);
      expect(shouldRelease()).toBe(false);
      await clock.advance(1);
      expect(shouldRelease()).toBe(true);
      others.send = false;
      expect(shouldRelease()).toBe(false);
      claimed.lines[0]!.attempts = noAttempts;
      expect(shouldRelease()).toBe(true);
      waiting = null;
      expect(shouldRelease()).toBe(false);
      pause = { model: 'm', orgId: null, since: 0, keyId: 'key_1' };
      expect(shouldRelease()).toBe(true);
      pause = null;
      models.clear();
      expect(shouldRelease()).toBe(true);
    });

    it('keeps all chunks without peers, and during a short overload', async () => {
      others = { serve: false, send: false };
      expect([demand.wanted()[0]!.lines, demand.onlyProbes('m')]).toEqual([64, false]);
      others.serve = true;
      waiting = refused('engine_overloaded');
      expect(demand.onlyProbes('m')).toBe(false);
      await clock.advance(5_000);
      expect(demand.onlyProbes('m')).toBe(true);
    });
  });

  it('runs the lines of models that are lost, which no engine holds up', () => {
    lost = ['gone'];
    expect(demand.models()).toEqual(['m', 'gone']);
    room = 0;
    expect(demand.room('gone')).toBe(64);
  });
});
