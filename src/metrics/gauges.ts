import { Gauge, type Registry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import { toWaiting } from '../core/waiting.ts';
import type { Catalog } from '../core/model.ts';
import type { Capacity } from '../inference/capacity.ts';
import type { BatchStore, OpenBatch } from '../store/contract/batches.ts';
import type { ReplicaState } from '../core/replica-state.ts';

export interface GaugesDeps {
  catalog: Catalog;
  capacity: Pick<Capacity, 'replicas' | 'interactiveLoad' | 'waiting'>;
  /** Of all processes. */
  batches: Pick<BatchStore, 'listOpen'>;
  /** True for an org that has used up its budget. */
  isOutOfBudget(orgId: string): boolean;
  /** The database's time. */
  time: Pick<Clock, 'now'>;
  clock: Clock;
  /** Of the program. */
  version: string;
}

/** A scrape has the figures of this process even where the database hangs. */
const databaseTimeoutMs = 2_000;

const healths = ['up', 'draining', 'half-open', 'open'] as const satisfies ReplicaState['health'][];

/** What is so at the moment; read when somebody asks, by `read`, and set into the registry. */
export function createGauges(registry: Registry, parts: GaugesDeps): { read(): Promise<void> } {
  const { catalog, capacity, batches: stored, time, clock, version } = parts;
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[]): Gauge<Label> =>
    new Gauge({ name, help, labelNames, registers: [registry] });

  gauge('offpeak_info', 'Its version', ['version']).set({ version }, 1);
  const ofModel = {
    interactive: gauge('offpeak_interactive_requests', 'Single requests in hand here', ['model']),
    waiting: gauge('offpeak_model_waiting_seconds', 'For how long no server of the model takes requests', [
      'model',
      'reason',
    ]),
  };
  const ofServer = {
    slots: gauge('offpeak_server_slots', 'Requests that the server works on at once', ['model', 'server']),
    inFlight: gauge('offpeak_server_in_flight', 'Requests of this process that the server has', [
      'model',
      'server',
    ]),
    health: gauge('offpeak_server_health', '1 for how the server is, 0 for how it is not', [
      'model',
      'server',
      'health',
    ]),
  };
  const database = gauge('offpeak_database_up', 'Whether the database answered this time', []);
  const open = {
    batches: gauge('offpeak_open_batches', 'Batches that have not ended, of all processes', ['model']),
    lines: gauge('offpeak_open_batch_lines', 'Their lines without a result', ['model']),
    age: gauge('offpeak_oldest_batch_age_seconds', 'Since the oldest of them was created', ['model']),
    left: gauge('offpeak_next_batch_expiry_seconds', 'Until the first of them expires', ['model']),
    atRisk: gauge(
      'offpeak_batches_at_risk',
      'Those of them that will miss their windows, though their organizations may spend',
      ['model'],
    ),
    outOfBudget: gauge(
      'offpeak_batches_out_of_budget',
      'Those of them whose organizations have used up their budgets',
      ['model'],
    ),
  };

  function readModels(): void {
    for (const each of [...Object.values(ofModel), ...Object.values(ofServer)]) each.reset();
    const load = capacity.interactiveLoad();
    for (const { id: model } of catalog.list()) {
      ofModel.interactive.set({ model }, load[model] ?? 0);
      const cause = capacity.waiting(model);
      if (cause) {
        const { reason, since } = toWaiting(cause);
        ofModel.waiting.set({ model, reason }, Math.max(0, clock.now() - since) / 1000);
      }
      for (const { name: server, slots, inFlight, health } of capacity.replicas(model)) {
        ofServer.slots.set({ model, server }, slots);
        ofServer.inFlight.set({ model, server }, inFlight);
        for (const each of healths)
          ofServer.health.set({ model, server, health: each }, Number(each === health));
      }
    }
  }

  /** One that the database has not answered yet is waited for by all. */
  let asking: Promise<readonly OpenBatch[] | null> | undefined;

  async function ask(): Promise<readonly OpenBatch[] | null> {
    asking ??= readOpenBatches(stored)
      .catch(() => null)
      .finally(() => (asking = undefined));
    const { promise: tooLate, resolve } = Promise.withResolvers<null>();
    const timer = clock.after(databaseTimeoutMs, () => resolve(null));
    const answer = await Promise.race([asking, tooLate]);
    timer.cancel();
    return answer;
  }

  function set(batches: readonly OpenBatch[]): void {
    const now = time.now();
    for (const [model, all] of Map.groupBy(batches, ({ model: one }) => one ?? 'several')) {
      open.batches.set({ model }, all.length);
      open.lines.set(
        { model },
        all.reduce((sum, { total, ok, err }) => sum + total - ok - err, 0),
      );
      open.age.set({ model }, Math.max(0, now - earliest(all, 'createdAt')) / 1000);
      open.left.set({ model }, Math.max(0, earliest(all, 'expiresAt') - now) / 1000);
      const paid = all.filter(({ orgId }) => !parts.isOutOfBudget(orgId));
      open.atRisk.set({ model }, paid.filter(({ atRiskAt }) => atRiskAt !== null).length);
      open.outOfBudget.set({ model }, all.length - paid.length);
    }
  }

  return {
    async read() {
      const batches = await ask();
      database.set(Number(batches !== null));
      for (const each of Object.values(open)) each.reset();
      set(batches ?? []);
      readModels();
    },
  };
}

const openPageSize = 2_000;

/** @throws what the database throws */
async function readOpenBatches(stored: GaugesDeps['batches']): Promise<OpenBatch[]> {
  const all: OpenBatch[] = [];
  for (;;) {
    const page = await stored.listOpen(openPageSize, all.at(-1));
    all.push(...page);
    if (page.length < openPageSize) return all;
  }
}

function earliest(batches: readonly OpenBatch[], of: 'createdAt' | 'expiresAt'): number {
  return batches.reduce((found, batch) => Math.min(found, batch[of]), Number.POSITIVE_INFINITY);
}
