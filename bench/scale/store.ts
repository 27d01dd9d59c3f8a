import { leaseSlots, type LeasedShare, type SlotLease } from '../../src/core/slot-leases.ts';
import { nothingClaimed } from './queue.ts';
import type { Store } from '../../src/store/store.ts';
import type { ProcessTime } from '../../test/support/virtual-clock.ts';
import type { SimDatabase } from './database.ts';
import type { PostgresCosts } from './options.ts';
import type { SimQueue } from './queue.ts';

export interface SimStoreDeps {
  database: SimDatabase;
  queue: SimQueue;
  costs: PostgresCosts;
  /** Leases of slots by model, of all processes. */
  slotLeases: Map<string, SlotLease[]>;
  /** Called with each recorded group, after its commit. */
  onRecorded: (lines: readonly { batchId: string; tokens: number }[], doubled: number) => void;
}

/** The store as one process sees it: transactions of the queue in memory that take the time of a database. */
export function createSimStore(deps: SimStoreDeps, clock: ProcessTime): Store {
  const { database, queue, costs, slotLeases, onRecorded } = deps;

  /** A dead process gets no answer. */
  const answered = <T>(kind: string, locks: readonly string[], ms: number, commit: () => T): Promise<T> =>
    new Promise((resolve) => {
      database.transact(kind, locks, ms, () => {
        const value = commit();
        clock.after(costs.roundTripMs, () => resolve(value));
      });
    });

  const store: DeepPartial<Store> = {
    batches: {
      claim: (worker, wanted, options) => {
        const promising = queue.promising(wanted);
        if (promising.length === 0) return answered('look', [], costs.lookMs, () => nothingClaimed);
        const models = promising.map(({ model }) => model);
        return answered('claim', models, costs.claimMs, () => queue.claim(worker, promising, options));
      },
      claimClosings: () => answered('look', [], costs.lookMs, () => nothingClaimed),
      release: (worker, leases) => answered('release', [], costs.lookMs, () => queue.release(worker, leases)),
      split: async () => false,
      fail: async () => false,
    },
    results: {
      record: (worker, rows, finished, now) => {
        const ms = costs.record.ms + costs.record.lineMs * rows.length;
        return answered('record', [], ms, () => {
          const { outcomes, doubled } = queue.record(rows, finished, worker, now);
          const used = rows.flatMap(({ batchId, usage }) =>
            usage ? [{ batchId, tokens: usage.inputTokens + usage.outputTokens }] : [],
          );
          onRecorded(used, doubled);
          return outcomes;
        });
      },
    },
    workers: {
      leaseSlots: (worker, asks, now) => {
        const models = Object.keys(asks);
        const { ms, modelMs, processMs } = costs.lease;
        const processes = slotLeases.get(models[0] ?? '')?.length ?? 0;
        return answered('lease', models, ms + models.length * (modelMs + processMs * processes), () => {
          const shares: Record<string, LeasedShare> = {};
          for (const model of models) {
            const { share, leases } = leaseSlots(slotLeases.get(model) ?? [], worker, asks[model]!, now);
            slotLeases.set(model, leases);
            shares[model] = share;
          }
          return shares;
        });
      },
    },
  };
  return store as Store;
}

type DeepPartial<T> = { [K in keyof T]?: T[K] extends object ? Partial<T[K]> : T[K] };
