import { beforeEach, describe, expect, it } from 'vitest';
import { createCatalog } from '../core/model.ts';
import type { WaitingCause } from '../core/waiting.ts';
import { Fleet } from './fleet.ts';

const prices = { input: 0, cachedInput: 0, output: 0 };
const model = { id: 'mine', aliases: ['my-alias'], serves: ['chat' as const], prices, createdAt: 0 };
const cause = (message: string): WaitingCause => ({
  scope: 'account',
  code: 'upstream_error',
  message,
  since: 5,
});

describe('Fleet', () => {
  let waiting: WaitingCause | null;
  let fleet: Fleet;

  beforeEach(() => {
    waiting = null;
    fleet = new Fleet({
      catalog: createCatalog([model]),
      interactiveLoad: () => ({ mine: 2 }),
      waiting: (id) => (id === 'mine' ? waiting : null),
    });
  });

  it('tells what it serves, and why it sends nothing of it, under every name', () => {
    const told = { interactive: { mine: 2 }, serves: ['mine', 'my-alias'], models: [model] };
    expect(fleet.load()).toEqual(told);
    waiting = cause('here');
    expect(fleet.load().waits).toEqual({ mine: waiting, 'my-alias': waiting });
  });

  it('says why a model waits only where nobody sends its lines', () => {
    const told = () => [fleet.waiting('my-alias'), fleet.isElsewhere('my-alias')];
    waiting = cause('here');
    expect(told()).toEqual([waiting, false]);
    const others = { interactive: {}, serves: ['my-alias'] };
    const waits = { 'my-alias': cause('there') };
    fleet.learn([{ ...others, waits }]);
    expect(told()).toEqual([waiting, false]);
    fleet.learn([{ ...others, waits }, others]);
    expect(told()).toEqual([null, true]);
    waiting = null;
    expect(told()).toEqual([null, false]);
  });

  it('knows the models of others, too', () => {
    expect([fleet.serves('mine'), fleet.serves('theirs'), fleet.othersServe('mine')]).toEqual([
      true,
      false,
      false,
    ]);
    const others = { interactive: {}, serves: ['theirs'] };
    fleet.learn([others]);
    expect([fleet.serves('theirs'), fleet.isElsewhere('theirs'), fleet.waiting('theirs')]).toEqual([
      true,
      true,
      null,
    ]);
    fleet.learn([{ ...others, waits: { theirs: cause('there') } }]);
    expect([fleet.isElsewhere('theirs'), fleet.waiting('theirs')]).toEqual([false, cause('there')]);
    expect([fleet.isElsewhere('nobodys'), fleet.waiting('nobodys')]).toEqual([false, null]);
    // A version that does not say what it serves.
    fleet.learn([{ interactive: {} }]);
    expect(fleet.serves('nobodys')).toBe(true);
  });
});
