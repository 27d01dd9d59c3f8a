import { beforeEach, describe, expect, it } from 'vitest';
import { heldChunk } from '../../../test/support/held-chunk.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { createCatalog } from '../../core/model.ts';
import { Demand } from './demand.ts';
import { WorkInHand } from '../hand/work-in-hand.ts';

const prices = { input: 0, cachedInput: 0, output: 0 };

describe('Demand', () => {
  let work: WorkInHand;
  let recorder: { hasRoom: boolean };
  let lanes: { wants(model: string): boolean };
  let room: number;
  let lost: string[];
  let demand: Demand;

  beforeEach(() => {
    work = new WorkInHand(createManualClock());
    recorder = { hasRoom: true };
    lanes = { wants: () => false };
    room = 8;
    lost = [];
    const missing = {
      get lost() {
        return lost;
      },
      isLost: (model: string) => lost.includes(model),
    };
    const catalog = createCatalog([{ id: 'm', aliases: ['alias'], serves: ['chat'], prices, createdAt: 0 }]);
    demand = new Demand({ generate: { catalog, room: () => room }, missing, work, lanes, recorder });
  });

  it('has the room of the engine, less what is on its way there', () => {
    expect(demand.room('m')).toBe(8);
    demand.starting('m', 1);
    expect(demand.room('m')).toBe(7);
    demand.starting('m', -1);
    expect(demand.room('m')).toBe(8);
  });

  it('sends nothing, and claims nothing, while answers cannot be recorded', () => {
    recorder.hasRoom = false;
    expect([demand.room('m'), demand.wants('m')]).toEqual([0, false]);
  });

  it('claims up to 64 lines more than there is room for', () => {
    work.held.add(heldChunk({ seq: 1, lines: 71 }));
    expect(demand.wants('m')).toBe(true);
    work.held.add(heldChunk({ seq: 2, lines: 1 }));
    expect(demand.wants('m')).toBe(false);
  });

  it('claims 64 ahead while the engine is full or overfull, or takes nothing', () => {
    room = -5;
    work.held.add(heldChunk({ seq: 1, lines: 63 }));
    expect([demand.room('m'), demand.wants('m')]).toEqual([-5, true]);
    work.held.add(heldChunk({ seq: 2, lines: 1 }));
    expect(demand.wants('m')).toBe(false);
  });

  it('claims more lines where slots still lack a prefix of their own', () => {
    work.held.add(heldChunk({ seq: 1, lines: 100 }));
    expect(demand.wants('m')).toBe(false);
    lanes.wants = () => true;
    expect(demand.wants('m')).toBe(true);
  });

  it('asks no more for a model without candidates until the next wake-up', () => {
    demand.noteDry('m');
    expect(demand.wants('m')).toBe(false);
    demand.refresh();
    expect(demand.wants('m')).toBe(true);
  });

  it('runs the lines of models that are lost, which no engine holds up', () => {
    lost = ['gone'];
    expect(demand.models()).toEqual(['m', 'gone']);
    room = 0;
    expect(demand.room('gone')).toBe(64);
  });
});
