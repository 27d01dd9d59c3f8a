import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { createCatalog, type Model } from '../core/model.ts';
import type { WaitingCause } from '../core/waiting.ts';
import type { WorkerLoad } from '../core/worker-load.ts';
import { Peers } from './peers.ts';

const model = (id: string, input: number, aliases: string[] = []): Model => ({
  id,
  aliases,
  serves: ['chat'],
  prices: { input, cachedInput: 0, output: 0 },
  createdAt: 0,
});
const having = (...models: Model[]): WorkerLoad => ({ interactive: {}, models });
const cause: WaitingCause = { scope: 'account', code: 'upstream_error', message: 'there', since: 5 };

describe('Fleet', () => {
  let clock: ManualClock;
  let fleet: Peers;

  beforeEach(() => {
    clock = createManualClock();
    fleet = new Peers(createCatalog([model('mine', 1, ['both'])]), clock);
  });

  it('knows the models of the others beside its own, which go first', () => {
    expect(fleet.find('theirs')).toBeUndefined();
    fleet.update([having(model('theirs', 2, ['alias', 'both'])), having(model('mine', 3))]);
    expect(fleet.find('alias')).toMatchObject({ id: 'theirs', prices: { input: 2 } });
    expect(fleet.idOf('alias')).toBe('theirs');
    expect(fleet.find('mine')?.prices.input).toBe(1);
    expect(fleet.idOf('both')).toBe('mine');
    expect(fleet.idOf('nobody')).toBe('nobody');
  });

  it('uses the last report of a name that moved to another model', () => {
    fleet.update([having(model('y', 1), model('x', 2))]);
    fleet.update([having(model('y', 1, ['x']))]);
    expect(fleet.find('x')?.id).toBe('y');
  });

  it('remembers the models of a silent process for ten minutes, at the last price', async () => {
    fleet.update([having(model('theirs', 2))]);
    await clock.advance(300_000);
    fleet.update([having(model('theirs', 4))]);
    await clock.advance(600_000);
    fleet.update([]);
    expect(fleet.find('theirs')?.prices.input).toBe(4);
    await clock.advance(1);
    fleet.update([]);
    expect(fleet.find('theirs')).toBeUndefined();
  });

  it('knows who serves a model, and who sends nothing of it', () => {
    const told = (name: string) => [
      fleet.serves(name),
      fleet.isServedElsewhere(name),
      fleet.isAvailableElsewhere(name),
      fleet.waitingElsewhere(name),
    ];
    expect(told('mine')).toEqual([true, false, false, null]);
    const sends = { interactive: {}, serves: ['theirs', '__proto__'] };
    const waits = { ...sends, waits: { theirs: cause } };
    fleet.update([waits]);
    expect(told('theirs')).toEqual([true, true, false, cause]);
    expect(told('__proto__')).toEqual([true, true, true, null]);
    fleet.update([waits, sends]);
    expect(told('theirs')).toEqual([true, true, true, null]);
    expect(told('nobodys')).toEqual([false, false, false, null]);
    // A version that does not say what it serves.
    fleet.update([{ interactive: {} }]);
    expect(told('nobodys')).toEqual([true, true, true, null]);
  });

  it('counts those that share the servers of a model, and their calls there', () => {
    fleet.update([
      { interactive: { mine: 2, theirs: 1 }, serves: ['mine', 'theirs'] },
      { interactive: { mine: 3 } },
      { interactive: {}, serves: ['theirs'] },
    ]);
    expect(fleet.loadElsewhere('mine')).toEqual({ processes: 2, interactive: 5 });
  });

  it('fetches loads for unknown models, once for all callers and once a second', async () => {
    await fleet.refresh();
    const asked: ((others: WorkerLoad[]) => void)[] = [];
    fleet.refreshBy(() => new Promise((resolve) => asked.push(resolve)));
    let told = 0;
    fleet.onUpdate(() => told++);
    const both = Promise.all([fleet.refresh(), fleet.refresh()]);
    asked[0]!([having(model('new', 1))]);
    await both;
    expect([fleet.find('new')?.id, told]).toEqual(['new', 1]);
    await fleet.refresh();
    await clock.advance(1_000);
    void fleet.refresh();
    expect(asked.length).toBe(2);
  });

  it('fetches again after a failure', async () => {
    let asked = 0;
    fleet.refreshBy(() => Promise.reject(new Error(`away ${++asked}`)));
    await expect(fleet.refresh()).rejects.toThrow('away 1');
    await expect(fleet.refresh()).rejects.toThrow('away 2');
  });
});
