import { expect, it } from 'vitest';
import { idOf, modelId, orgId, SimBatches, type SimBatch, takeChunk } from '../../bench/scale/batches.ts';
import { SimQueue } from '../../bench/scale/queue.ts';
import { addBatch, weightOf } from '../../bench/scale/world.ts';
import { hourMs } from '../../src/base/clock.ts';
import type { Chunk } from '../../src/core/batch.ts';
import type { ClaimRequest } from '../../src/store/contract/claim.ts';
import type { Store } from '../../src/store/store.ts';
import { addBatch as storeBatch, anySuspects, makeOrg, start } from '../store/fixtures.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { createMemoryStore } from '../support/memory-store.ts';
import { createSeededRandom, type SeededRandom } from '../support/seeded-random.ts';

const models = [0, 1, 2].map(modelId);
const orgs = 24;

it.each([1, 2, 3, 4, 5, 6])('claims the chunks that the store claims, in world %i', async (seed) => {
  const random = createSeededRandom(seed);
  const store = createMemoryStore({ clock: createManualClock(start) });
  await store.start();
  for (let org = 0; org < orgs; org++)
    await store.orgs.insert(makeOrg({ id: orgId(org), weight: weightOf(org) }));
  const batches = new SimBatches();
  const queue = new SimQueue(batches, models, weightOf);
  const add = () => addToBoth(store, queue, batches, random);
  for (let n = 0; n < 60; n++) await add();
  const held: Chunk[] = [];
  for (let step = 0; step < 60; step++) {
    const wanted = wishes(random, held, batches);
    const options = { now: start + step * 60_000, suspects: anySuspects };
    await store.batches.hurry(options.now, 1_000);
    queue.hurry(options.now);
    const claimed = (await store.batches.claim('w', wanted, options)).chunks;
    const promising = queue.promising(wanted);
    const simulated = promising.length === 0 ? [] : queue.claim('w', promising, { ...options }).chunks;
    expect(simulated.map(nameOf).toSorted()).toEqual(claimed.map(nameOf).toSorted());
    held.push(...claimed);
    const back = held.splice(0, random.int(0, 3));
    await store.batches.release('w', back);
    queue.release('w', back);
    if (random.chance(0.3)) await add();
  }
  expect(held.length).toBeGreaterThan(60);
  await store.stop();
});

async function addToBoth(store: Store, queue: SimQueue, batches: SimBatches, random: SeededRandom) {
  const createdAt = start - random.int(0, 23 * hourMs);
  const fields = {
    org: random.int(0, orgs - 1),
    model: random.int(0, 2),
    createdAt,
    total: random.int(1, 300),
  };
  const batch = addBatch(batches, random, { ...fields, expiresAt: createdAt + 24 * hourMs });
  await storeBatch(
    store,
    {
      id: idOf(batch),
      orgId: orgId(batch.org),
      model: modelId(batch.model),
      total: batch.total,
      due: batch.due,
      createdAt,
      expiresAt: batch.expiresAt,
    },
    () => chunksOf(batch),
  );
  queue.add(batch);
}

/** All chunks of a batch, as they are stored. */
function chunksOf(batch: SimBatch): Chunk[] {
  const copy = { ...batch };
  return Array.from({ length: Math.ceil(batch.total / batch.size) }, (_, at) => ({
    ...takeChunk(copy, at + 1),
    epoch: 0,
  }));
}

function wishes(random: SeededRandom, held: readonly Chunk[], batches: SimBatches): ClaimRequest[] {
  return models
    .filter(() => random.chance(0.7))
    .map((model) => {
      const claimedDue: Record<string, number> = {};
      for (const { batchId, model: of } of held) {
        const { org, due } = batches.byId(batchId);
        const before = claimedDue[orgId(org)] ?? Infinity;
        if (of === model && random.chance(0.5)) claimedDue[orgId(org)] = Math.min(before, due);
      }
      const lines = random.chance(0.5) ? random.int(1, 100) : 0;
      return {
        model,
        names: [model],
        lines,
        chunks: 0,
        claimedDue,
        moreOrgs: random.int(0, 10),
        moreLateOrgs: random.int(0, 3),
      };
    });
}

function nameOf({ batchId, seq }: Chunk): string {
  return `${batchId}/${seq}`;
}
