import type { BatchContext } from '../batch-context.ts';
import type { BatchBackoff } from '../claimed/batch-backoff.ts';
import type { ClaimedChunk, ClaimedLine, RunningBatch } from '../claimed/claimed-chunks.ts';
import type { LocalWork } from '../claimed/local-work.ts';
import type { PrefixAffinity } from '../claimed/prefix-affinity.ts';
import type { ClaimDemand } from '../queue/claim-demand.ts';
import type { Fairness } from '../queue/fairness.ts';
import type { SlotLeases } from '../queue/slot-leases.ts';
import type { Recorder } from '../record/recorder.ts';
import { estimatedLineCost, tokensPerLine } from './line-cost.ts';
import { LineOutcomes, type SentLine } from './line-outcomes.ts';
import { LineRunner } from './line-runner.ts';
import { nextChunk } from './next-line.ts';
import type { PrefixWarmup } from './prefix-warmup.ts';
import { SendPacer } from './send-pacer.ts';
import type { RecentRuns } from './recent-runs.ts';
import type { Throughput } from './throughput.ts';

export interface DispatcherDeps extends BatchContext {
  work: LocalWork;
  demand: ClaimDemand;
  fairness: Fairness;
  warmup: PrefixWarmup;
  throughput: Throughput;
  recentRuns: RecentRuns;
  affinity: PrefixAffinity;
  slots: Pick<SlotLeases, 'requestIfDue' | 'awaitsFirstLease'>;
  recorder: Recorder;
  backoff: Pick<BatchBackoff, 'add'>;
  /** False while no lines may be sent; lines in flight continue. */
  isRunning: () => boolean;
  /** Claims more lines. */
  fetch: () => void;
}

/** For engines that do not share cached prompts between slots. */
const noWarmup = { shouldWait: () => false };

/** Sends lines while there is room (batch-engine.md, "Running"). */
export class Dispatcher {
  #deps: DispatcherDeps;
  #pacer: SendPacer;
  #runner: LineRunner;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#pacer = new SendPacer(deps.clock, () => this.dispatch());
    const outcomes = new LineOutcomes({ ...deps, dispatch: () => this.dispatch() });
    this.#runner = new LineRunner({ ...deps, outcomes });
  }

  /** Fills every engine with claimed lines, and claims more where they do not suffice. */
  dispatch(): void {
    const { demand, fetch, work, capacity, slots, isRunning, holdsLeases } = this.#deps;
    // After a suspension, the process does not know yet which leases it has lost.
    if (!isRunning() || !holdsLeases()) return;
    for (const model of demand.models()) {
      if (capacity.waiting(model) === null) work.unpark(model);
      if (!slots.awaitsFirstLease(model)) this.#send(model, demand.room(model));
      if (demand.wants(model)) fetch();
    }
    slots.requestIfDue();
  }

  #send(model: string, room: number): void {
    if (room <= 0) return;
    // The discovery of slots needs many concurrent requests.
    const isPaced = this.#deps.capacity.discoveredSlots(model) === undefined;
    const max = isPaced ? Math.min(room, this.#pacer.left(model)) : room;
    let left = max;
    while (left > 0 && this.#sendNext(model)) left--;
    this.#pacer.sent(model, max - left);
    if (left === 0 && max < room) this.#pacer.scheduleNext();
  }

  #sendNext(model: string): boolean {
    const { work, demand, capacity, catalog, budgets } = this.#deps;
    const times = this.#deps.fairness.of(model);
    const prefixes = this.#deps.affinity.snapshot(model);
    const warmup = capacity.prefixCache(model) === 'shared' ? this.#deps.warmup : noWarmup;
    const mayRun = this.#permits(model);
    const next = () => nextChunk(work.chunks, model, times, warmup, prefixes, mayRun);
    const found = next() ?? (work.unpark(model) ? next() : undefined);
    if (!found) return false;
    const { claimed, isAhead } = found;
    // The configuration has changed: the name now means another model, or none.
    if (catalog.idOf(claimed.chunk.model) !== model) {
      work.yieldChunk(claimed);
      return this.#sendNext(model);
    }
    if (!budgets.hasRoom(claimed.batch)) {
      work.yieldBatch(claimed.batch.id);
      return this.#sendNext(model);
    }
    // Waiting for the first line of a prefix pays only while there may be other work.
    const { prefix } = claimed.chunk;
    const shouldWait = warmup.shouldWait(model, prefix) || (prefixes?.inFlight(claimed) ?? 0) > 0;
    if (shouldWait && demand.wants(model)) return false;
    const line = work.send(claimed);
    if (!line) return false;
    const correctCharge = times.charge(claimed.batch, tokensPerLine(claimed.chunk), isAhead);
    this.#deps.warmup.sent(model, prefix);
    this.#deps.affinity.sent(model, prefix);
    this.#start(line, correctCharge);
    return true;
  }

  /** Returns the test whether a batch may run: its org is not paused and, while fallbacks answer, it froze the price of one. */
  #permits(model: string): (batch: RunningBatch) => boolean {
    const { capacity, catalog, controls } = this.#deps;
    const fallbacks = capacity.activeFallbacks(model);
    const hasPrice = ({ priced }: RunningBatch) =>
      fallbacks.length === 0 || priced.some((name) => fallbacks.includes(catalog.idOf(name)));
    return (batch) => controls.pausing(batch.orgId, model) === null && hasPrice(batch);
  }

  /** Sends all lines of a chunk at once, whatever room batches have. */
  sendNow(claimed: ClaimedChunk): void {
    const { work } = this.#deps;
    for (let line = work.send(claimed); line; line = work.send(claimed)) this.#start(line, () => {});
  }

  #start(line: ClaimedLine, correctCharge: SentLine['correctCharge']): void {
    const { demand, budgets, throughput, recentRuns } = this.#deps;
    const { chunk, model, batch } = line.claimed;
    throughput.sent(model);
    demand.starting.add(model, 1);
    const reservation = budgets.reserve(batch, () => estimatedLineCost(chunk, line.ref, batch));
    void this.#runner.run({ line, reservation, correctCharge }).finally(() => {
      reservation.release();
      throughput.landed(model);
      recentRuns.landed(batch.id);
      this.dispatch();
    });
  }
}
