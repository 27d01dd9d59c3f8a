import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { createCatalog, type Model } from '../core/model.ts';
import { FleetModels } from './fleet-models.ts';

const model = (id: string, input: number, aliases: string[] = []): Model => ({
  id,
  aliases,
  serves: ['chat'],
  prices: { input, cachedInput: 0, output: 0 },
  createdAt: 0,
});

describe('FleetModels', () => {
  it('knows the models of the others beside its own, which go first', () => {
    const fleet = new FleetModels(createCatalog([model('mine', 1, ['both'])]), createManualClock());
    expect(fleet.find('theirs')).toBeUndefined();
    fleet.learn([model('theirs', 2, ['alias', 'both']), model('mine', 3)]);
    expect(fleet.find('alias')).toMatchObject({ id: 'theirs', prices: { input: 2 } });
    expect(fleet.idOf('alias')).toBe('theirs');
    expect(fleet.find('mine')?.prices.input).toBe(1);
    expect(fleet.idOf('both')).toBe('mine');
    expect(fleet.idOf('nobody')).toBe('nobody');
  });

  it('goes by what was told last, where a name has moved to another model', () => {
    const fleet = new FleetModels(createCatalog([]), createManualClock());
    fleet.learn([model('y', 1), model('x', 2)]);
    fleet.learn([model('y', 1, ['x'])]);
    expect(fleet.find('x')?.id).toBe('y');
  });

  it('keeps what a process told that is away for ten minutes, at the price it told last', async () => {
    const clock = createManualClock();
    const fleet = new FleetModels(createCatalog([]), clock);
    fleet.learn([model('theirs', 2)]);
    await clock.advance(300_000);
    fleet.learn([model('theirs', 4)]);
    await clock.advance(600_000);
    fleet.learn([]);
    expect(fleet.find('theirs')?.prices.input).toBe(4);
    await clock.advance(1);
    fleet.learn([]);
    expect(fleet.find('theirs')).toBeUndefined();
  });
});
