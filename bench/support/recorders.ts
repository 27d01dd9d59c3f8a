// Four result writers on one Postgres. Each flush has results of the same 128 batches. Prints rows per second.
import { silent } from '../../src/base/log.ts';
import { createPostgresStore } from '../../src/store/postgres/postgres.ts';
import { addBatch, claimOf, output, range, start } from '../../test/store/fixtures.ts';

const [recorders, batches, flushes, ofEach] = [4, 128, 40, 2];
const body = Buffer.from(JSON.stringify({ answer: 'x'.repeat(900) }));

const url = process.argv[2] ?? '';
const stores = range(0, recorders).map(() => createPostgresStore({ url, log: silent }));
for (const store of stores) await store.start();
const first = stores[0]!;
const ids: string[] = [];
for (const _ of range(0, batches)) {
  const { id } = await addBatch(first, { total: recorders * flushes * ofEach });
  await claimOf(first, 'w', id);
  ids.push(id);
}

const began = performance.now();
await Promise.all(
  stores.map(async ({ results }, at) => {
    for (const flush of range(0, flushes)) {
      const from = (at * flushes + flush) * ofEach;
      const lines = range(from, from + ofEach);
      const rows = ids.flatMap((id) => lines.map((line) => output(id, line, { body })));
      await results.record('w', rows, [], start);
    }
  }),
);
const rows = recorders * flushes * ofEach * batches;
console.log(JSON.stringify({ rowsPerSecond: (rows / (performance.now() - began)) * 1000 }));
await Promise.all(stores.map((store) => store.stop()));
