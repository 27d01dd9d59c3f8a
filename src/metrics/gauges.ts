import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import { sum } from '../base/sum.ts';
import { words } from '../base/words.ts';
import { toWaiting } from '../core/waiting.ts';
import type { Catalog } from '../core/model.ts';
import type { Capacity } from '../inference/capacity.ts';
import type { OpenSum } from '../core/open-sums.ts';
import type { ModelWork } from '../core/work-left.ts';
import type { OrgMetrics } from './org-metrics.ts';
import type { ReplicaState } from '../core/replica-state.ts';
import type { WaitingReason } from '../core/waiting.ts';

export interface GaugesDeps {
  catalog: Catalog;
  capacity: Pick<Capacity, 'replicas' | 'interactiveLoad' | 'waiting'>;
  /** Reads the open batches of all processes, and the work left in those that can run. */
  openWork(): Promise<OpenWork>;
  /** Counts the unfinished deliveries of webhooks, up to a maximum. */
  waitingDeliveries(max: number): Promise<{ count: number; oldestAt: number | null }>;
  orgs?: Pick<OrgMetrics, 'read'> | undefined;
  /** Reason why the batches of an org wait; null if they may run. */
  orgWaits(orgId: string): WaitingReason | null;
  /** Clock of the database. */
  time: Pick<Clock, 'now'>;
  clock: Clock;
  version: string;
}

interface OpenWork {
  open: readonly OpenSum[];
  models: readonly ModelWork[];
}

/** Timeout after which a scrape reports only the figures of this process. */
const databaseTimeoutMs = 2_000;

/** Number of waiting deliveries at which counting stops, because each is read. */
const maxDeliveries = 10_000;

const healths = ['up', 'draining', 'half-open', 'open'] as const satisfies ReplicaState['health'][];

/** Gauges of the current state. `read` updates them in the registry, at each scrape. */
export function createGauges(registry: Registry, deps: GaugesDeps): { read(): Promise<void> } {
  const { catalog, capacity, time, clock, version } = deps;
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[]): Gauge<Label> =>
    new Gauge({ name, help, labelNames, registers: [registry] });

  gauge('offpeak_info', 'Version of Offpeak', ['version']).set({ version }, 1);
  const ofModel = {
    interactive: gauge('offpeak_interactive_requests', 'Interactive requests in flight in this process', [
      'model',
    ]),
    waiting: gauge('offpeak_model_waiting_seconds', 'Time since when no server of the model takes requests', [
      'model',
      'reason',
    ]),
  };
  const ofServer = {
    slots: gauge('offpeak_server_slots', 'Slots of the server', ['model', 'server']),
    inFlight: gauge('offpeak_server_in_flight', 'Requests of this process in flight at the server', [
      'model',
      'server',
    ]),
    slowdown: gauge(
      'offpeak_server_slowdown',
      'Factor on the time of interactive requests that the batch lines in flight at the server cause',
      ['model', 'server'],
    ),
    gaveWay: new Counter({
      name: 'offpeak_server_lines_gave_way_total',
      help: 'Times that batch lines of this process gave way to interactive requests at the server',
      labelNames: ['model', 'server'],
      registers: [registry],
    }),
    health: gauge('offpeak_server_health', '1 for the current state of the server, 0 for the others', [
      'model',
      'server',
      'health',
    ]),
  };
  const database = gauge('offpeak_database_up', '1 if the database answered this scrape, else 0', []);
  const open = {
    batches: gauge('offpeak_open_batches', 'Open batches of all processes', ['model']),
    lines: gauge('offpeak_open_batch_lines', 'Lines without a result in open batches', ['model']),
    age: gauge('offpeak_oldest_batch_age_seconds', 'Age of the oldest open batch', ['model']),
    left: gauge('offpeak_next_batch_expiry_seconds', 'Time until the next open batch expires', ['model']),
    atRisk: gauge(
      'offpeak_batches_at_risk',
      'Open batches at risk of missing their window, of orgs within their budget',
      ['model'],
    ),
    outOfBudget: gauge('offpeak_batches_out_of_budget', 'Open batches of orgs whose budget is used up', [
      'model',
    ]),
  };

  const work = {
    requests: gauge('offpeak_work_left_requests', 'Batch lines without a result that can run', ['model']),
    tokens: gauge('offpeak_work_left_tokens', 'Estimated input and output tokens of these lines', ['model']),
    seconds: gauge('offpeak_work_left_seconds', 'Time to finish these lines at the measured rate', ['model']),
    slackSeconds: gauge(
      'offpeak_slack_seconds',
      'Time that the batch with the least can spare within its window, at the measured rate',
      ['model'],
    ),
    neededTokensPerSecond: gauge(
      'offpeak_needed_tokens_per_second',
      'Least rate at which every batch ends within its window; 0 for a model without work',
      ['model'],
    ),
  };

  const allWork = gauge(
    'offpeak_all_work_left_requests',
    'Batch lines without a result that can run, of all models',
    [],
  );

  const webhooks = {
    waiting: gauge('offpeak_webhook_deliveries_waiting', 'Deliveries that wait for an attempt', []),
    age: gauge(
      'offpeak_webhook_oldest_delivery_age_seconds',
      'Age of the oldest of them; 0 if there are none',
      [],
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
      for (const { name: server, slots, inFlight, health, slowdown, gaveWay } of capacity.replicas(model)) {
        ofServer.slots.set({ model, server }, slots);
        ofServer.inFlight.set({ model, server }, inFlight);
        if (slowdown !== null) ofServer.slowdown.set({ model, server }, slowdown);
        ofServer.gaveWay.inc({ model, server }, gaveWay);
        for (const each of healths)
          ofServer.health.set({ model, server, health: each }, Number(each === health));
      }
    }
  }

  /** Figures of the database; null if it does not answer in time. */
  async function readDatabase() {
    const { promise: timeout, resolve } = Promise.withResolvers<null>();
    // After a standstill of this process the timer fires first: one more turn reads an answer that is there.
    let timer = clock.after(databaseTimeoutMs, () => (timer = clock.after(0, () => resolve(null))));
    const reading = Promise.all([deps.openWork(), deps.waitingDeliveries(maxDeliveries)]);
    const answer = await Promise.race([reading.catch(() => null), timeout]);
    timer.cancel();
    return answer;
  }

  function set({ open: sums, models }: OpenWork): void {
    // An autoscaler needs a number also for a model without work.
    for (const { id: model } of catalog.list()) work.neededTokensPerSecond.set({ model }, 0);
    for (const { model, ...figures } of models)
      for (const name of words('requests tokens seconds slackSeconds neededTokensPerSecond')) {
        const figure = figures[name];
        if (figure !== null) work[name].set({ model }, figure);
      }
    allWork.set(sum(models.map(({ requests }) => requests)));
    const now = time.now();
    for (const [model, all] of Map.groupBy(sums, ({ model: one }) => one ?? 'several')) {
      open.batches.set({ model }, countOf(all, 'batches'));
      open.lines.set({ model }, countOf(all, 'lines'));
      open.age.set({ model }, Math.max(0, now - earliest(all, 'createdAt')) / 1000);
      open.left.set({ model }, Math.max(0, earliest(all, 'expiresAt') - now) / 1000);
      const spent = all.filter(({ orgId }) => deps.orgWaits(orgId) === 'budget');
      const running = all.filter(({ orgId }) => deps.orgWaits(orgId) === null);
      open.atRisk.set({ model }, countOf(running, 'atRisk'));
      open.outOfBudget.set({ model }, countOf(spent, 'batches'));
    }
  }

  function setDeliveries({ count, oldestAt }: { count: number; oldestAt: number | null }): void {
    webhooks.waiting.set(count);
    webhooks.age.set(oldestAt === null ? 0 : Math.max(0, time.now() - oldestAt) / 1000);
  }

  return {
    async read() {
      const found = await readDatabase();
      database.set(Number(found !== null));
      for (const each of [...Object.values(open), ...Object.values(work)]) each.reset();
      // A reset would set a gauge without labels to 0.
      for (const each of [allWork, ...Object.values(webhooks)]) each.remove();
      if (found) {
        const [batches, deliveries] = found;
        set(batches);
        setDeliveries(deliveries);
      }
      await deps.orgs?.read(found && found[0]);
      readModels();
    },
  };
}

function countOf(sums: readonly OpenSum[], of: 'batches' | 'lines' | 'atRisk'): number {
  return sum(sums.map((each) => each[of]));
}

function earliest(sums: readonly OpenSum[], of: 'createdAt' | 'expiresAt'): number {
  return sums.reduce((found, each) => Math.min(found, each[of]), Number.POSITIVE_INFINITY);
}
