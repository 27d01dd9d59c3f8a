import { createCatalog } from '../../src/core/model.ts';
import type { SlotLease } from '../../src/core/slot-leases.ts';
import { createSeededRandom } from '../../test/support/seeded-random.ts';
import { createVirtualTime, virtualEpoch } from '../../test/support/virtual-clock.ts';
import { modelId, SimBatches, type SimBatch } from './batches.ts';
import { SimDatabase, type Transactions } from './database.ts';
import type { ScaleOptions } from './options.ts';
import { SimProcess } from './process.ts';
import { SimQueue } from './queue.ts';
import { SimServer, SlotTime } from './servers.ts';
import { ServiceShares, type Fairness } from './shares.ts';
import { createSimStore } from './store.ts';
import { addBatch, addOpenBatches, drawLine, hasLateWork, modelOfOrg, weightOf } from './world.ts';

/** Time after the death of a process until its chunks are ready again: 30 s of the lease, and a beat of a peer. */
const takeoverMs = 33_000;
const maxSmallLines = 20;

export interface ScaleResult {
  /** Share of the slot time used in the phases, by the servers that were up. */
  fill: { steady: number; replicas: number; processes: number };
  /** Service of orgs in the steady phase, by model. */
  fairness: Fairness[];
  /** Transactions of the steady phase. */
  transactions: Record<'claim' | 'lease' | 'record' | 'look', Transactions>;
  /** Cores of Postgres at work. */
  coresBusy: number;
  linesPerSecond: number;
  /** Milliseconds from the creation of each small batch to its first line, and the number of those that had none after ten seconds. */
  firstLine: { times: number[]; never: number };
  /** Share of the tokens of the steady phase that orgs with late work used. */
  lateShare: number;
  /** Batches whose windows ended in the run, and those among them with lines left. */
  windows: { ended: number; missed: number };
  /** Lines that were recorded, and results that were dropped because the line had one. */
  lines: { recorded: number; doubled: number };
  /** Chunks of dead processes. */
  lostChunks: number;
  events: number;
}

/** Simulates an installation. The same options give the same result. */
export async function simulate(options: ScaleOptions): Promise<ScaleResult> {
  const { replicas, slots, processes: count, phases, postgres, orgs } = options;
  const random = createSeededRandom(options.seed);
  const time = createVirtualTime(random.fork());
  const batches = new SimBatches();
  const models = replicas.map((_, at) => modelId(at));
  const queue = new SimQueue(batches, models, weightOf);
  const ending = addOpenBatches(batches, random.fork(), options, virtualEpoch);
  queue.hurry(virtualEpoch);
  const byModel = Map.groupBy(batches.all, ({ model }) => model);
  const orders = random.fork();
  for (const [model, ofModel] of byModel)
    queue.orders[model]!.addAll(
      ofModel.toSorted((a, b) => a.due - b.due || a.at - b.at),
      // As if the queue had been served for long: orgs are at different places of their turns.
      (work) => Math.floor((orders.float() * work.batches[0]!.est * 64) / work.weight),
    );

  const slotTime = new SlotTime(time);
  const servers = new Map(
    replicas.map((n, at) => [
      modelId(at),
      Array.from({ length: n }, () => new SimServer(slots, time, slotTime)),
    ]),
  );
  const database = new SimDatabase(time, postgres);
  const slotLeases = new Map<string, SlotLease[]>();
  const shares = new ServiceShares(batches, queue.orders, (org) => !hasLateWork(org, options));
  const lines = { recorded: 0, doubled: 0 };
  const catalog = createCatalog(
    models.map((id) => ({ id, aliases: [], serves: ['chat'], prices: noPrices, createdAt: 0 })),
  );
  const draws = random.fork();
  const processes = Array.from({ length: count }, (_, at) => {
    const clock = time.process();
    const store = createSimStore(
      {
        database,
        queue,
        costs: postgres,
        slotLeases,
        onRecorded(used, doubled) {
          lines.recorded += used.length - doubled;
          lines.doubled += doubled;
          shares.count(used);
        },
      },
      clock,
    );
    const draw = (batchId: string) => {
      const batch = batches.byId(batchId);
      if (batch.firstSentAt === null) batch.firstSentAt = time.elapsed;
      return drawLine(batch, draws, options.tokenMs);
    };
    const worker = `wrk_${String(at).padStart(4, '0')}`;
    const processRandom = random.fork();
    return new SimProcess({
      worker,
      processes: count,
      clock,
      random: processRandom,
      catalog,
      servers,
      store,
      draw,
    });
  });
  // Processes start one after the other, so that their polls differ.
  for (const [at, process] of processes.entries()) time.after((at * 1_000) / count, () => process.start());

  const created: SimBatch[] = [];
  const creation = random.fork();
  const everyMs = 1_000 / options.createdPerSecond;
  let nextOrg = orgs;
  const create = () => {
    const org = nextOrg++;
    const createdAt = virtualEpoch + time.elapsed;
    const batch = addBatch(batches, creation, {
      org,
      model: modelOfOrg(org, false, replicas),
      createdAt,
      expiresAt: createdAt + 86_400_000,
      total: creation.int(1, maxSmallLines),
    });
    queue.add(batch);
    created.push(batch);
    time.after(everyMs * 2 * creation.float(), create);
  };
  time.after(phases.warm, create);

  const until = async (ms: number) => void (await time.run(time.elapsed + ms));
  await until(phases.warm);
  slotTime.take();
  database.clear();
  shares.start();
  const before = lines.recorded;
  await until(phases.steady);
  const steady = slotTime.take();
  // Copies, because the later phases add to the same counts.
  const transactions = structuredClone({
    claim: database.of('claim'),
    lease: database.of('lease'),
    record: database.of('record'),
    look: database.of('look'),
  });
  const coresBusy = database.busyMs / phases.steady;
  const linesPerSecond = ((lines.recorded - before) * 1_000) / phases.steady;
  const lateShare = shares.shareOf((org) => hasLateWork(org, options));
  const fairness = shares.take();
  const small = firstLines(created, time.elapsed);

  const all = [...servers.values()].flat();
  const dying = random.fork();
  const dead = Array.from(
    { length: options.deadReplicas },
    () => all.splice(dying.int(0, all.length - 1), 1)[0]!,
  );
  for (const server of dead) server.die();
  time.after(options.replicaDownMs, () => {
    for (const server of dead) server.restart();
  });
  await until(phases.replicas);
  const withoutReplicas = slotTime.take();

  let lostChunks = 0;
  for (const process of processes.slice(0, options.deadProcesses)) {
    process.die();
    time.after(takeoverMs, () => (lostChunks += queue.lost(process.worker)));
  }
  await until(phases.processes);
  const over = ending.filter(({ expiresAt }) => expiresAt <= virtualEpoch + time.elapsed);
  return {
    fill: { steady, replicas: withoutReplicas, processes: slotTime.take() },
    fairness,
    transactions,
    coresBusy,
    linesPerSecond,
    firstLine: small,
    lateShare,
    windows: { ended: over.length, missed: over.filter(({ done, total }) => done < total).length },
    lines,
    lostChunks,
    events: time.events,
  };
}

const noPrices = { input: 0, cachedInput: 0, output: 0 };

/** Batches of the last seconds may still wait for their turn. */
const settledMs = 10_000;

function firstLines(created: readonly SimBatch[], now: number): ScaleResult['firstLine'] {
  const settled = created.filter(({ createdAt }) => createdAt - virtualEpoch < now - settledMs);
  const times = settled.flatMap(({ createdAt, firstSentAt }) =>
    firstSentAt === null ? [] : [firstSentAt - (createdAt - virtualEpoch)],
  );
  return { times, never: settled.length - times.length };
}
