import { beforeEach, describe, expect, it } from 'vitest';
import { claimedChunk, noEffects, runningBatch } from '../../../test/support/claimed-chunk.ts';
import { makeBatch } from '../../../test/store/fixtures.ts';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import type { LinePlace } from '../../core/request-group.ts';
import { createCatalog } from '../../core/model.ts';
import type { Store } from '../../store/store.ts';
import type { WatchedBatch, OpenBatch } from '../../store/contract/batches.ts';
import type { Waiting } from '../../core/waiting.ts';
import { StoreTime } from '../../base/store-time.ts';
import type { RunningBatch } from '../claimed/claimed-chunks.ts';
import { Maintenance } from './maintenance.ts';
import { LocalWork } from '../claimed/local-work.ts';

describe('Maintenance', () => {
  let clock: ManualClock;
  let work: LocalWork;
  let batch: RunningBatch;
  let state: Partial<WatchedBatch> | null;
  let open: OpenBatch[];
  let expired: string[];
  let leftovers: string[];
  let said: string[];
  let lateAt: number;
  let stranded: string[];
  let away: boolean;
  let asked: number;
  let noMoney: Map<string, Waiting>;
  let atRisk: string[];
  let watch: Maintenance;
  let isHolder: boolean;
  let reported: ReadonlySet<string>;

  beforeEach(() => {
    clock = createManualClock();
    work = new LocalWork(clock, noEffects);
    batch = runningBatch();
    const chunk = claimedChunk({ batch });
    work.chunks.add(chunk);
    work.send(chunk);
    state = { closing: null, pausedAt: null };
    open = [];
    noMoney = new Map();
    expired = [];
    leftovers = [];
    said = [];
    stranded = [];
    lateAt = Number.POSITIVE_INFINITY;
    away = false;
    asked = 0;
    atRisk = [];
    isHolder = true;
    reported = new Set();
    const store = {
      batches: {
        expire: async (now: number) => {
          asked++;
          if (away) throw new Error('the database is away');
          said.push(`expire ${now - clock.now()}`);
          return expired;
        },
        reopen: async () => stranded.splice(0),
        listOpen: async (limit: number, after?: OpenBatch) => {
          const from = open.findIndex(({ id }) => id === after?.id) + 1;
          return open.slice(from, from + limit);
        },
        hurry: async (now: number) => void (now >= lateAt && said.push('hurry')),
        markAtRisk: async (id: string) => said.push(`at risk ${id}`),
        states: async (ids: string[]) => (state ? ids.map((id) => ({ id, ...state })) : []),
      },
      results: { leftovers: async () => leftovers },
      requests: { ended: async (places: LinePlace[]) => places.filter(({ line }) => line === 101) },
    } as unknown as Store;
    watch = new Maintenance({
      store,
      peers: createCatalog([]),
      duties: {
        isHolder: () => isHolder,
        get atRisk() {
          return reported;
        },
        reportAtRisk: (models) => void (reported = models),
      },
      capacity: { setAtRisk: (models) => void (atRisk = [...models]) },
      work,
      hours: { find: () => undefined },
      budgets: { waiting: (orgId) => noMoney.get(orgId) ?? null },
      clock,
      billingClock: clock,
      time: new StoreTime(clock),
      random: { bytes: (n) => new Uint8Array(n), float: () => 0 },
      log: silent,
      onWork: () => said.push('work'),
      purge: async (id) => {
        if (id === 'batch_stuck') throw new Error('its rows cannot be read');
        said.push(`purge ${id}`);
      },
    });
    watch.start();
  });

  it('looks each second for windows that are over, in the time of the database', async () => {
    await clock.advance(2_600);
    expect(said).toEqual(['expire 0', 'expire 0', 'expire 0']);
    await watch.stop();
    await clock.advance(5_000);
    expect(said).toHaveLength(3);
  });

  it('leaves a batch alone that runs, and one whose last line was recorded', async () => {
    await clock.advance(500);
    expect(batch.state).toBe('running');
    state = { closing: 'completed' };
    await clock.advance(500);
    expect(batch.state).toBe('running');
  });

  it('lets the calls of a cancelled batch continue for its grace period', async () => {
    state = { closing: 'cancelled', acceptUntil: clock.now() + 2_000 };
    await clock.advance(500);
    expect([batch.state, batch.abort.signal.aborted]).toEqual(['stopping', false]);
    await clock.advance(1_499);
    expect(batch.abort.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(batch.abort.signal.aborted).toBe(true);
  });

  it.each(['expired', 'failed'] as const)(
    'aborts the calls of a batch that is %s at once',
    async (closing) => {
      state = { closing, acceptUntil: clock.now() + 10_000 };
      await clock.advance(500);
      expect(batch.abort.signal.aborted).toBe(true);
    },
  );

  it('sends nothing more of a batch that was paused elsewhere, and lets its calls land', async () => {
    state = { closing: null, pausedAt: clock.now() };
    await clock.advance(60_000);
    expect([batch.state, batch.abort.signal.aborted]).toEqual(['yielding', false]);
    state = { closing: null, pausedAt: null };
    await clock.advance(500);
    expect(batch.state).toBe('running');
  });

  it('drops a single request that has a result, and no line of a batch', async () => {
    const requests = claimedChunk({ batch: runningBatch({ id: 'group_1' }) });
    const lines = claimedChunk({ batch: runningBatch({ id: 'batch_2' }) });
    for (const chunk of [requests, lines]) work.chunks.add(chunk);
    await clock.advance(500);
    const states = [requests, lines].map((chunk) => chunk.lines.map(({ state: now }) => now));
    expect(states).toEqual([
      ['queued', 'done'],
      ['queued', 'queued'],
    ]);
  });

  it('aborts the calls of a batch that is no more', async () => {
    state = null;
    await clock.advance(500);
    expect(batch.abort.signal.aborted).toBe(true);
  });

  it('ends expired batches, and purges finished ones', async () => {
    expired = ['batch_9'];
    leftovers = ['batch_7', 'batch_8'];
    await clock.advance(500);
    expect(said).toEqual(['expire 0', 'work', 'purge batch_7', 'purge batch_8']);
  });

  it('warns twice a minute of batches that will miss their windows', async () => {
    const soon = makeBatch({ createdAt: clock.now() - 9_000, expiresAt: clock.now() + 1_000 });
    open = [soon, makeBatch({ createdAt: clock.now(), expiresAt: clock.now() + 86_400_000 })];
    await clock.advance(30_000);
    expect(said.filter((each) => each.startsWith('at risk'))).toEqual([`at risk ${soon.id}`]);
    await clock.advance(1_000);
    expect(said.filter((each) => each.startsWith('at risk'))).toHaveLength(2);
    expect(atRisk).toEqual(['m1']);
    open = [{ ...soon, atRiskAt: clock.now(), pausedAt: clock.now() }];
    await clock.advance(90_000);
    expect(atRisk).toEqual([]);
    expect(said.filter((each) => each.startsWith('at risk'))).toHaveLength(2);
  });

  it('lets late batches go first every two seconds', async () => {
    lateAt = clock.now() + 2_000;
    await clock.advance(1_500);
    expect(said).not.toContain('hurry');
    await clock.advance(3_000);
    expect(said.filter((each) => each === 'hurry')).toHaveLength(2);
  });

  it('takes over a new order of the batches that it runs', async () => {
    state = { closing: null, pausedAt: null, due: 42 };
    await clock.advance(500);
    expect(batch.due).toBe(42);
  });

  it('leaves to the holder of the duties what is for all, and applies what it found', async () => {
    isHolder = false;
    reported = new Set(['m1']);
    expired = ['batch_1'];
    leftovers = ['batch_2'];
    stranded = ['batch_3'];
    await clock.advance(90_000);
    expect(new Set(said)).toEqual(new Set(['expire 0', 'work']));
    expect(atRisk).toEqual(['m1']);
    isHolder = true;
    await clock.advance(1_000);
    expect(said).toEqual(expect.arrayContaining(['purge batch_2']));
  });

  it('judges all that are open, however many', async () => {
    const [createdAt, expiresAt] = [clock.now() - 40_000_000, clock.now() + 1_000_000];
    const others = Array.from({ length: 4_100 }, () =>
      makeBatch({ createdAt: clock.now(), expiresAt: createdAt + 86_400_000 }),
    );
    const late = makeBatch({ createdAt, expiresAt });
    open = [...others, late];
    await clock.advance(30_000);
    expect(said.filter((each) => each.startsWith('at risk'))).toEqual([`at risk ${late.id}`]);
  });

  it('warns of no batch that waits for its budget', async () => {
    const expiresAt = clock.now() + 86_400_000;
    const of = (id: string, orgId: string) => makeBatch({ id, orgId, createdAt: clock.now(), expiresAt });
    open = [
      of('batch_rich', 'rich'),
      of('batch_soon', 'soon'),
      of('batch_late', 'late'),
      of('batch_never', 'never'),
    ];
    const waiting = { reason: 'budget', message: 'Used up.', since: 0 } as const;
    noMoney.set('soon', { ...waiting, until: expiresAt - 1 });
    noMoney.set('late', { ...waiting, until: expiresAt });
    noMoney.set('never', waiting);
    await clock.advance(1_000);
    expect(said.filter((each) => each.startsWith('at risk'))).toEqual([]);
    // With a budget again, the batch is late like any other.
    noMoney.delete('never');
    await clock.advance(80_000_000);
    expect(said.filter((each) => each.startsWith('at risk'))).toContain('at risk batch_never');
    expect(said).not.toContain('at risk batch_late');
  });

  it('warns of no batch whose org is disabled', async () => {
    const expiresAt = clock.now() + 1_000;
    open = [makeBatch({ orgId: 'disabled', createdAt: clock.now() - 86_400_000, expiresAt })];
    noMoney.set('disabled', { reason: 'org_disabled', message: 'Disabled.', since: 0 });
    await clock.advance(1_000);
    expect(said.filter((each) => each.startsWith('at risk'))).toEqual([]);
    noMoney.delete('disabled');
    await clock.advance(30_000);
    expect(said.filter((each) => each.startsWith('at risk'))).toHaveLength(1);
  });

  it('yields the chunks of a disabled org, and takes them up again', async () => {
    state = { closing: null, pausedAt: null, isBudgetUsedUp: false, isOrgDisabled: true };
    await clock.advance(500);
    expect(batch.state).toBe('yielding');
    state = { ...state, isOrgDisabled: false };
    await clock.advance(500);
    expect(batch.state).toBe('running');
  });

  it('backs off during a database outage, and continues after it', async () => {
    away = true;
    await clock.advance(60_000);
    expect(asked).toBeLessThan(30);
    away = false;
    await clock.advance(3_000);
    expect(said[0]).toBe('expire 0');
  });

  it('follows a cancelled batch although expiry fails, and purges what it can', async () => {
    away = true;
    leftovers = ['batch_stuck', 'batch_8'];
    state = { closing: 'failed', acceptUntil: 0 };
    await clock.advance(500);
    expect(batch.abort.signal.aborted).toBe(true);
    expect(said).toEqual(['purge batch_8']);
  });

  it('reopens stranded batches, which it looks for once a minute', async () => {
    await clock.advance(1_000);
    stranded = ['batch_a'];
    said = [];
    await clock.advance(50_000);
    expect(said).not.toContain('work');
    await clock.advance(11_000);
    expect(said.filter((what) => what === 'work')).toHaveLength(1);
    await watch.stop();
  });
});
