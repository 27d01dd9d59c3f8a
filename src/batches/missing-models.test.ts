import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { createCatalog } from '../core/model.ts';
import { StoreTime } from '../base/store-time.ts';
import type { WorkerLoad } from '../core/worker-load.ts';
import { Peers } from '../inference/peers.ts';
import { MissingModels } from './missing-models.ts';

const prices = { input: 0, cachedInput: 0, output: 0 };
const model = { id: 'mine', aliases: ['also-mine'], serves: ['chat' as const], prices, createdAt: 0 };
const minute = 60_000;

describe('MissingModels (F34)', () => {
  let clock: ManualClock;
  let found: Record<string, number>;
  let looks: number;
  let catalog = createCatalog([model]);
  let peers: Peers;
  let missing: MissingModels;

  beforeEach(() => {
    clock = createManualClock();
    found = {};
    looks = 0;
    catalog = createCatalog([model]);
    const missingModels = async () => {
      looks++;
      return Object.entries(found).map(([name, since]) => ({ model: name, since }));
    };
    const own = {
      list: () => catalog.list(),
      find: (name: string) => catalog.find(name),
      idOf: (name: string) => catalog.idOf(name),
    };
    peers = new Peers(own, clock);
    missing = new MissingModels({
      store: { workers: { missingModels } },
      peers,
      clock,
      time: new StoreTime(clock),
      lostAfterMs: 10 * minute,
    });
  });

  function learn(others: readonly WorkerLoad[]): void {
    peers.update(others);
    missing.onPeersUpdated();
  }

  async function lookAfter(ms: number): Promise<string[]> {
    await clock.advance(ms);
    await missing.refresh();
    return missing.lost;
  }

  it('are lost after the grace that the database counts', async () => {
    found = { gone: clock.now() };
    expect(await lookAfter(0)).toEqual([]);
    expect(await lookAfter(10 * minute - 1)).toEqual([]);
    expect(await lookAfter(1)).toEqual(['gone']);
  });

  it('are not, while the database counts anew after a time without any process', async () => {
    found = { gone: clock.now() };
    expect(await lookAfter(9 * minute)).toEqual([]);
    found = { gone: clock.now() };
    expect(await lookAfter(9 * minute)).toEqual([]);
  });

  it('are looked for once a minute', async () => {
    for (let i = 0; i < 120; i++) await lookAfter(1_000);
    expect(looks).toBe(2);
  });

  it('end as lost while their last lines are in hand, which the database does not count', async () => {
    found = { gone: clock.now() };
    await lookAfter(0);
    expect(await lookAfter(10 * minute)).toEqual(['gone']);
    found = {};
    expect(await lookAfter(minute)).toEqual(['gone']);
  });

  it('are not lost once anybody serves them, here or elsewhere, under any name', async () => {
    found = { gone: clock.now() };
    await lookAfter(0);
    expect(await lookAfter(10 * minute)).toEqual(['gone']);
    learn([{ interactive: {}, serves: ['other', 'gone'] }]);
    expect([missing.lost, missing.isLost('gone')]).toEqual([[], false]);
    learn([]);
    catalog = createCatalog([{ ...model, aliases: ['gone'] }]);
    expect(missing.lost).toEqual([]);
  });

  it('have the whole grace period again after being served', async () => {
    found = { gone: clock.now() };
    await lookAfter(0);
    expect(await lookAfter(10 * minute)).toEqual(['gone']);
    learn([{ interactive: {}, serves: ['gone'] }]);
    learn([]);
    found = { gone: clock.now() };
    expect(missing.lost).toEqual([]);
    expect(await lookAfter(10 * minute - 1)).toEqual([]);
    expect(await lookAfter(minute)).toEqual(['gone']);
  });

  it('say why they wait and since when, also before anybody looked', async () => {
    const since = clock.now();
    expect(missing.waiting('gone')).toMatchObject({ scope: 'model', code: 'model_not_found', since });
    await clock.advance(minute);
    expect(missing.waiting('gone')).toMatchObject({ since });
    expect([missing.waiting('mine'), missing.waiting('also-mine')]).toEqual([null, null]);
    learn([{ interactive: {}, serves: ['gone'] }]);
    expect(missing.waiting('gone')).toBeNull();
    learn([{ interactive: {} }]);
    expect(missing.waiting('gone')).toBeNull();
  });
});
