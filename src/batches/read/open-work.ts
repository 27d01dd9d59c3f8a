import { groupsOf } from '../../base/groups-of.ts';
import { sum } from '../../base/sum.ts';
import { linesLeft } from '../../core/batch.ts';
import { type OpenSum, sumOpen } from '../../core/open-sums.ts';
import { type BatchWork, type ModelWork, workByModel } from '../../core/work-left.ts';
import { isGroup } from '../../core/request-group.ts';
import { type LineRate, totalRate } from '../../core/worker-load.ts';
import type { Peers } from '../../inference/peers.ts';
import type { Controls } from '../../operator/controls.ts';
import type { BatchStore, OpenBatch, OpenLines } from '../../store/contract/batches.ts';
import { runTimes, timeLeft, type TimesDeps } from '../deadline-risk.ts';
import { listOpen } from '../list-open.ts';

/** Age up to which a report is reused. */
const currentMs = 1_000;
/** A report that takes longer than this is read in the background, for at most 1 / `restFactor` of the time. */
const slowMs = 50;
const restFactor = 50;
/** Batches whose chunks one statement sums: some milliseconds of an embedded database. */
const batchesPerStatement = 8;

/** Open batches of all processes by org and model, and the work left that can run. */
export interface OpenWorkReport {
  open: readonly OpenSum[];
  /** Without work that is paused, and batches whose org may not spend. */
  work: readonly BatchWork[];
  /** Its sums by model. */
  models: readonly ModelWork[];
  /** Tokens per second that all processes together complete of a model; null while unknown. */
  rateOf: (model: string) => number | null;
}

export interface OpenWorkDeps extends TimesDeps {
  store: { batches: Pick<BatchStore, 'listOpen' | 'openLines'> };
  peers: Pick<Peers, 'idOf' | 'ratesElsewhere'>;
  /** Rates of this process, by model id. */
  throughput: { rates(): Record<string, LineRate> };
  controls: Pick<Controls, 'pausing'>;
  clock: { monotonic(): number };
}

interface Sums {
  /** Lines without a result when the sums were read. */
  left: number;
  models: readonly OpenLines[];
}

/** Reads the work left by model, for operators and autoscalers. */
export class OpenWork {
  #deps: OpenWorkDeps;
  /** Sums of the chunks, by batch. */
  #sums = new Map<string, Sums>();
  #reading: Promise<OpenWorkReport> | null = null;
  #last: { report: OpenWorkReport; at: number; tookMs: number } | null = null;

  constructor(deps: OpenWorkDeps) {
    this.#deps = deps;
  }

  /**
   * Report that is at most a second old; concurrent callers share one. Where a report takes long because of many open batches, it is
   * the last one.
   */
  async read(): Promise<OpenWorkReport> {
    const last = this.#last;
    const age = last ? this.#deps.clock.monotonic() - last.at : 0;
    if (last && age < Math.max(currentMs, restFactor * last.tookMs)) return last.report;
    const reading = this.#reading ?? this.#begin();
    if (!last || !isSlow(last)) return reading;
    // The next call reads again and reports a fault that lasts.
    reading.catch(() => (this.#last = null));
    return last.report;
  }

  /** Makes the next report include batches that were created before this call, unless reports take long. */
  forget(): void {
    if (this.#last && isSlow(this.#last)) return;
    this.#reading = null;
    this.#last = null;
  }

  #begin(): Promise<OpenWorkReport> {
    const { clock } = this.#deps;
    const at = clock.monotonic();
    const reading = this.#read()
      .then((report) => {
        if (reading === this.#reading) this.#last = { report, at, tookMs: clock.monotonic() - at };
        return report;
      })
      .finally(() => {
        if (reading === this.#reading) this.#reading = null;
      });
    this.#reading = reading;
    return reading;
  }

  async #read(): Promise<OpenWorkReport> {
    const { store, peers, throughput } = this.#deps;
    const batches = await listOpen(store.batches);
    const runnable = batches.filter((batch) => this.#isRunnable(batch));
    await this.#update(runnable);
    const own = throughput.rates();
    const rateOf = (model: string) =>
      totalRate([...(Object.hasOwn(own, model) ? [own[model]!] : []), ...peers.ratesElsewhere(model)]);
    const work = runnable.flatMap((batch) => this.#workOf(batch));
    return {
      open: sumOpen(batches.filter(({ id }) => !isGroup(id))),
      work,
      models: workByModel(work, rateOf),
      rateOf,
    };
  }

  #isRunnable({ orgId, model, pausedAt }: OpenBatch): boolean {
    const { now, from } = runTimes(this.#deps, orgId, model);
    return pausedAt === null && from <= now;
  }

  /**
   * Reads the sums of batches that are new, or have several models and new results. The tokens of one model fall with its lines, but
   * the share of each of several models is known only from the chunks. A batch of one model has its sum in its row.
   */
  async #update(batches: readonly OpenBatch[]): Promise<void> {
    const open = new Set(batches.map(({ id }) => id));
    for (const id of this.#sums.keys()) if (!open.has(id)) this.#sums.delete(id);
    const stale = batches.filter((batch) => {
      if (hasOwnSum(batch)) return false;
      const sums = this.#sums.get(batch.id);
      return !sums || (sums.models.length > 1 && sums.left !== linesLeft(batch));
    });
    for (const part of groupsOf(stale, batchesPerStatement)) {
      const rows = await this.#deps.store.batches.openLines(part.map(({ id }) => id));
      const byBatch = Map.groupBy(rows, ({ batchId }) => batchId);
      for (const batch of part) {
        const models = byBatch.get(batch.id);
        if (models) this.#sums.set(batch.id, { left: linesLeft(batch), models });
      }
    }
  }

  /** Chunks in work count whole in the sums: the lines left are distributed over the models in proportion. */
  #workOf(batch: OpenBatch): BatchWork[] {
    const { id, model: only, total, est } = batch;
    const models = hasOwnSum(batch)
      ? [{ model: only!, requests: total, tokens: est }]
      : (this.#sums.get(id)?.models ?? []);
    const scale = linesLeft(batch) / sum(models.map(({ requests }) => requests));
    return models.flatMap(({ model: name, requests, tokens }) => {
      const model = this.#deps.peers.idOf(name);
      if (this.#deps.controls.pausing(batch.orgId, model)) return [];
      return {
        model,
        orgId: batch.orgId,
        requests: Math.round(requests * scale),
        tokens: Math.round(tokens * scale),
        due: batch.due,
        msLeft: timeLeft(batch, runTimes(this.#deps, batch.orgId, model)),
      };
    });
  }
}

function isSlow({ tookMs }: { tookMs: number }): boolean {
  return tookMs > slowMs;
}

/** True if the row of the batch has its tokens. The requests of a group come and go. */
function hasOwnSum({ id, model, est }: OpenBatch): boolean {
  return model !== null && est > 0 && !isGroup(id);
}
