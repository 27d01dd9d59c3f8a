import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/system.ts';
import { createMemoryStore } from '../support/memory-store.ts';
import { storeConformance } from './conformance.ts';

storeConformance('the store in memory', async () => {
  const store = createMemoryStore({ clock: systemClock });
  await store.start();
  return { store, other: store, reset: () => store.reset(), close: () => store.stop() };
});

test('the store in memory settles within microtasks, so that a simulated clock decides the order of events', async () => {
  const store = createMemoryStore({ clock: { ...systemClock, now: () => 42 } });
  let turned = false;
  setImmediate(() => (turned = true));
  await store.start();
  const { now } = await store.workers.beat('w', { interactive: {} });
  await Promise.all([store.workers.leases('w'), store.results.record('w', [], [], 0), store.reset()]);
  expect(now).toBe(42);
  expect(turned).toBe(false);
  await store.stop();
});
