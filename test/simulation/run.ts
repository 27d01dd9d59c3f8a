import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { openInterleavings } from '../store/interleaving/interleave.ts';
import { startPostgres } from '../support/postgres.ts';
import { openDatabase } from './database.ts';
import { recount, simulate } from './simulate.ts';
import type { WorldOptions } from './world.ts';

// `npm run test:simulation -- 1-10000` simulates the worlds of these seeds on all cores, then interleaves the statements of
// several processes on one Postgres for the first seeds, and prints every violation. `npm test` runs 200 worlds and 6
// interleavings.

/** Maximum number of interleavings, which run one after the other. */
const maxInterleavings = 200;

/** Number of broken worlds that are printed with their history; the others get one line. */
const maxHistories = 3;

interface Share {
  first: number;
  last: number;
  step: number;
}

async function runShare({ first, last, step }: Share): Promise<void> {
  const database = await openDatabase();
  for (let seed = first; seed <= last; seed += step) {
    let report: string | null = null;
    for (const options of worldsOf(seed)) {
      const { violations } = await simulate(seed, database, options);
      if (violations.length > 0) report ??= await recount(seed, database, options);
    }
    const port = parentPort!;
    port.postMessage(report);
  }
  await database.close();
}

/** Every tenth seed also has worlds with an operator who pauses and with chats, which no seed draws by itself. */
function worldsOf(seed: number): WorldOptions[] {
  return seed % 10 === 0 ? [{}, { shape: 'paused' }, { shape: 'chats' }] : [{}];
}

async function runAll(first: number, last: number): Promise<void> {
  const step = availableParallelism();
  const began = performance.now();
  const total = last - first + 1;
  let done = 0;
  let failed = 0;
  const onReport = (text: string | null) => {
    done++;
    if (text !== null) {
      failed++;
      console.error(failed <= maxHistories ? `${text}\n` : text.split('\n', 2).join(' '));
    }
    if (done % 1_000 === 0) console.info(`${done} of ${total} worlds, ${failed} of them broken`);
  };
  const shares = Array.from({ length: step }, (_, n) => ({ first: first + n, last, step }));
  await Promise.all(
    shares.map(
      (share) =>
        new Promise<void>((resolve, reject) => {
          new Worker(new URL(import.meta.url), { workerData: share })
            .on('message', onReport)
            .once('error', reject)
            .once('exit', () => resolve());
        }),
    ),
  );
  const seconds = (performance.now() - began) / 1000;
  console.info(`${done} worlds in ${Math.round(seconds)} s, ${failed} of them broken`);
  if (failed > 0 || done < total) process.exitCode = 1;
}

async function interleaveAll(first: number, last: number): Promise<void> {
  const server = await startPostgres();
  if ('reason' in server) return;
  const interleavings = await openInterleavings(await server.createDatabase());
  let failed = 0;
  for (let seed = first; seed <= last; seed++) {
    const fault = await interleavings.interleave(seed);
    if (fault === null) continue;
    failed++;
    console.error(fault);
  }
  await interleavings.close();
  await server.stop();
  console.info(`${last - first + 1} interleavings of statements on Postgres, ${failed} of them broken`);
  if (failed > 0) process.exitCode = 1;
}

if (isMainThread) {
  const [first = 1, last = 10_000] = (process.argv[2] ?? '1-10000').split('-').map(Number);
  await runAll(first, last);
  await interleaveAll(first, Math.min(last, first + maxInterleavings - 1));
} else await runShare(workerData as Share);
