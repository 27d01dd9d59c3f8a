import { writeSync } from 'node:fs';
import { silent } from '../../src/base/log.ts';
import { systemClock } from '../../src/base/system.ts';
import { createSqliteStore } from '../../src/store/sqlite/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { failure, lease, makeBatch, makeChunks, makeFile, output, start } from './fixtures.ts';

/** Committed operation that a process reports before it is killed. */
export type Ack =
  | { did: 'create'; batch: string; total: number }
  | { did: 'record'; batch: string; lines: number[] }
  | { did: 'cancel'; batch: string };

const [path, life] = process.argv.slice(2) as [string, string];
let made = 0;
const total = 400;
const wanted = { model: 'm1', names: ['m1'], lines: 0, chunks: 2, claimedDue: {}, moreOrgs: 0 };
const suspects = { minKills: 99, max: 0, mayTakeAlone: false };

const acknowledge = (ack: Ack) => writeSync(1, `${JSON.stringify(ack)}\n`);
const id = (prefix: string) => `${prefix}${life.padStart(8, '0')}${String(++made).padStart(24, '0')}`;

async function create(store: Store): Promise<void> {
  const inlineFile = makeFile({ id: id('file-'), blobId: id('blob_') });
  const batch = makeBatch({ id: id('batch_'), total, inputFileId: inlineFile.id, due: systemClock.now() });
  await store.batches.create(batch, makeChunks(batch, 8), {
    inlineFile,
    limits: { org: { openBatches: 10_000 }, key: {} },
    now: start,
  });
  acknowledge({ did: 'create', batch: batch.id, total });
}

async function work(store: Store, worker: string): Promise<void> {
  for (let turn = 0; ; turn++) {
    const { chunks } = await store.batches.claim(worker, [wanted], { now: start, suspects });
    const [first] = chunks;
    if (!first) {
      await create(store);
      continue;
    }
    const results = chunks.flatMap((chunk) =>
      chunk.lines.map(({ line }) =>
        line % 10 === 9 ? failure(chunk.batchId, line) : output(chunk.batchId, line),
      ),
    );
    for (const { batchId, kept, closed } of await store.results.record(
      worker,
      results,
      chunks.map(lease),
      start,
    )) {
      const lines = results.filter((result) => result.batchId === batchId).map(({ line }) => line);
      if (!closed && kept === lines.length) acknowledge({ did: 'record', batch: batchId, lines });
    }
    if (turn % 40 === 39) {
      const { batchId } = first;
      const cancelled = await store.batches.cancel('org_a', batchId, start, 1_000);
      if (cancelled?.began) acknowledge({ did: 'cancel', batch: batchId });
    }
  }
}

const store = createSqliteStore({ path, clock: systemClock, log: silent });
await store.start();
await store.workers.clear();
await store.workers.reap(0);
await Promise.all([work(store, `a${life}`), work(store, `b${life}`)]);
