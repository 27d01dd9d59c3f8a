import { expect, it } from 'vitest';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { Claimer, type ClaimerDeps } from './claimer.ts';

it('a process that claims nothing looks for nothing, however often the dispatcher asks', async () => {
  const clock = createManualClock();
  const dry = new Set<string>();
  let looks = 0;
  const claimer: Claimer = new Claimer({
    clock,
    claims: false,
    holdsLeases: () => true,
    missing: { refresh: async () => void looks++ },
    work: { chunks: { all: [] } },
    demand: {
      models: () => ['m'],
      room: () => 8,
      refresh: () => dry.clear(),
      noteDry: (model: string) => void dry.add(model),
    },
    dispatch() {
      if (!dry.has('m') && looks < 1_000) claimer.fetch();
    },
  } as unknown as ClaimerDeps);
  claimer.start();
  await clock.advance(10_000);
  expect(looks).toBeGreaterThan(5);
  expect(looks).toBeLessThan(20);
  await claimer.stop();
});
