import type { Batch, Chunk } from '../../../src/core/batch.ts';
import type { StoreOperations } from '../../../src/store/sql/sql-store.ts';
import type { BatchSnapshot } from '../../../src/store/contract/batches.ts';
import type { LineResult } from '../../../src/store/contract/results.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import { failure, hour, lease, makeFile, output, start } from '../fixtures.ts';

const suspects = { minKills: 2, max: 99, mayTakeAlone: true };
const cancelGraceMs = 1;
/** End of the window of every batch. */
const windowEnd = start + 24 * hour;

/** Every lease ever granted; no two may be equal. */
export type Leases = Set<string>;

/** Process that runs store operations in random order, and trusts earlier answers even if they are outdated. */
export class WorkerActor {
  readonly id: string;
  #store: StoreOperations;
  #random: SeededRandom;
  #leases: Leases;
  #tokens: number;
  #held: Chunk[] = [];

  constructor(at: number, store: StoreOperations, random: SeededRandom, leases: Leases) {
    this.id = `wrk_${at}`;
    // The tokens of a line show which process answered it.
    this.#tokens = 10 ** at;
    this.#store = store;
    this.#random = random;
    this.#leases = leases;
  }

  async live(steps: number): Promise<void> {
    await this.beat();
    for (let step = 0; step < steps; step++) {
      const drawn = this.#random.float();
      if (drawn < 0.25 || this.#held.length === 0) await this.claim(this.#random.int(1, 6));
      else if (drawn < 0.65) await this.record();
      else if (drawn < 0.75) await this.releaseSome();
      else if (drawn < 0.9) await this.close();
      else if (drawn < 0.97) await this.beat();
      else await this.leave();
    }
    await this.#store.batches.expire(windowEnd, 9);
  }

  async beat(): Promise<void> {
    await this.#store.workers.beat(this.id, { interactive: {} });
  }

  async claim(lines: number): Promise<number> {
    const wanted = { model: 'm1', names: ['m1'], lines, chunks: 0, claimedDue: {}, moreOrgs: 0 };
    const { chunks, faults } = await this.#store.batches.claim(this.id, [wanted], { now: start, suspects });
    if (faults.length > 0) throw new Error(`a claim met a fault: ${faults[0]!.message}`);
    this.#noteLeases(chunks);
    for (const chunk of chunks)
      if (chunk.kills >= suspects.minKills && chunk.lines.length > 1)
        await this.#store.batches.split(this.id, lease(chunk));
      else this.#held.push(chunk);
    return chunks.length;
  }

  /** Records some claimed lines, of several batches at once; a chunk is finished with its last line. */
  async record(most = 3): Promise<void> {
    const results: LineResult[] = [];
    const finished: Chunk[] = [];
    for (const chunk of this.#held.slice(0, most)) {
      const taken = chunk.lines.splice(0, this.#random.int(1, chunk.lines.length));
      results.push(...taken.map(({ line }) => this.#answer(chunk.batchId, line)));
      if (chunk.lines.length === 0) finished.push(chunk);
    }
    this.#held = this.#held.filter((chunk) => !finished.includes(chunk));
    await this.#store.results.record(this.id, results, finished.map(lease), start);
  }

  async recordAll(): Promise<void> {
    while (this.#held.length > 0) await this.record(100);
  }

  async releaseSome(): Promise<void> {
    const released = this.#held.splice(0, this.#random.int(1, this.#held.length));
    await this.#store.batches.release(this.id, released.map(lease));
  }

  async close(): Promise<void> {
    const { batches, results } = this.#store;
    const { chunks } = await batches.claimClosings(this.id, 1);
    this.#noteLeases(chunks);
    for (const chunk of chunks) {
      const closing = lease(chunk);
      if (!(await batches.closeGate(this.id, closing))) continue;
      const missing = await results.missing(chunk.batchId, 0, 1_000);
      const gaps = missing.map((line) => failure(chunk.batchId, line, { code: 'batch_cancelled' }));
      if (!(await results.recordMissing(this.id, closing, gaps, start))) continue;
      const file = () => makeFile({ purpose: 'batch_output', filename: `${chunk.batchId}.jsonl` });
      const files = { output: file(), errors: file() };
      const outcome = await batches.publish(this.id, closing, files, start);
      if (outcome === 'incomplete')
        throw new Error(`${chunk.batchId} was shut and completed, but is incomplete`);
    }
  }

  async leave(): Promise<void> {
    this.#held = [];
    await this.#store.workers.leave(this.id);
    await this.beat();
  }

  #answer(batchId: string, line: number): LineResult {
    if (this.#random.chance(0.2)) return failure(batchId, line);
    return output(batchId, line, {
      usage: {
        inputTokens: this.#tokens,
        cachedTokens: 0,
        cacheWriteTokens: 0,
        outputTokens: 1,
        reasoningTokens: 0,
      },
    });
  }

  #noteLeases(chunks: readonly Chunk[]): void {
    for (const { batchId, seq, epoch } of chunks) {
      const key = `${batchId}/${seq} in epoch ${epoch}`;
      if (this.#leases.has(key)) throw new Error(`${key} was leased twice`);
      this.#leases.add(key);
    }
  }
}

/** Acts as users, and as the maintenance that any process may do. */
export async function beUser(
  store: StoreOperations,
  batches: readonly Batch[],
  random: SeededRandom,
  now: () => number,
): Promise<void> {
  for (let step = 0; step < 8; step++) {
    const { id, orgId, expiresAt } = random.pick(batches);
    const drawn = random.float();
    if (drawn < 0.1) await store.batches.cancel(orgId, id, start, cancelGraceMs);
    else if (drawn < 0.17) await store.batches.fail(id, fault, start);
    else if (drawn < 0.24) await store.batches.expire(expiresAt, 1);
    else if (drawn < 0.5) {
      await store.batches.pause(orgId, id, start);
      await store.batches.resume(orgId, id, start + hour);
    } else if (drawn < 0.75) await store.workers.reap(now() - 30);
    else if (drawn < 0.85) await store.batches.reopen(start, 10);
    else requireAgreement(await store.batches.snapshot(id));
  }
}

/** Every output has one token. */
function requireAgreement(picture: BatchSnapshot | undefined): void {
  if (!picture) throw new Error('a batch is gone');
  const { batch, ledger, running, errorSummary } = picture;
  const { id, ok, err, total } = batch;
  const tokens = ledger.reduce((sum, { usage }) => sum + usage.outputTokens, 0);
  const failed = errorSummary.reduce((sum, { count }) => sum + count, 0);
  if (tokens !== ok || failed !== err || ok + err + running > total)
    throw new Error(`${id} mixes several moments: ${JSON.stringify({ ok, tokens, err, failed, running })}`);
}

const fault = { code: 'batch_failed', message: 'Something is wrong with it.', param: null, line: null };
