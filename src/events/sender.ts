import { createTimeBounds, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { type Duties, soleDuties } from '../core/duties.ts';
import { createRetryLog } from '../core/retry-log.ts';
import type { DeliveryStatus } from '../core/webhook.ts';
import type { AttemptOutcome, ClaimedDelivery, WebhookStore } from '../store/contract/webhooks.ts';
import { attempt, attemptMs, type AttemptDeps } from './attempt.ts';

export interface SenderDeps extends AttemptDeps {
  store: WebhookStore;
  log: Log;
  /** Id of the lease holder, this process. */
  worker: string;
  /** Called after each attempt of an event, except tests. */
  onAttempt?: ((status: DeliveryStatus) => void) | undefined;
  /** True when no other process uses the database: leases found at start-up are stale. */
  exclusive: boolean;
  /** The holder removes old deliveries; this process if absent. */
  duties?: Pick<Duties, 'isHolder'>;
}

const pollMs = 1_000;
/** Longer than any attempt, so that no other process sends the same delivery. */
export const deliveryLeaseMs = 3 * attemptMs;
/** Concurrent deliveries to one receiver. */
const perReceiver = 8;
const maxInFlight = 256;
/** Time that attempts in flight get to finish after `stop`. */
const stopGraceMs = 2_000;
const retentionMs = 30 * 86_400_000;
const sweepMs = 3_600_000;
const sweepBatch = 500;
const claimMessages = {
  failed: 'cannot claim webhook deliveries',
  succeeded: 'webhook deliveries are claimed again',
};

/**
 * Sends due deliveries, a few at a time to each receiver, so that a slow or silent receiver does not delay the others.
 * Deliveries claimed by a dead process are claimed again when their lease expires.
 */
export function createSender(deps: SenderDeps) {
  const { store, clock, log, worker, duties = soleDuties() } = deps;
  const time = createTimeBounds(clock);
  const claimFailures = createRetryLog(log, claimMessages);
  const stopped = new AbortController();
  const aborted = new AbortController();
  const inFlight = new Set<Promise<unknown>>();
  /** Number of deliveries in flight, by webhook id. */
  const byWebhook = new Map<string, number>();
  let round: Promise<void> | undefined;
  let isAnotherWanted = false;
  let loops: Promise<unknown> | undefined;
  let stopping: Promise<void> | undefined;

  function wake(): void {
    if (stopped.signal.aborted) return;
    isAnotherWanted = true;
    round ??= rounds().finally(() => (round = undefined));
  }

  async function rounds(): Promise<void> {
    while (isAnotherWanted && !stopped.signal.aborted) {
      isAnotherWanted = false;
      const limit = maxInFlight - inFlight.size;
      if (limit <= 0) return;
      const query = { leaseMs: deliveryLeaseMs, limit, each: perReceiver, busy: [...byWebhook.keys()] };
      try {
        for (const delivery of await store.claim(worker, query)) void send(delivery);
        claimFailures.succeeded();
      } catch (error) {
        claimFailures.failed(error);
      }
    }
  }

  function send(delivery: ClaimedDelivery, tries: 'all' | 'one' = 'all'): Promise<AttemptOutcome> {
    const { webhookId } = delivery;
    byWebhook.set(webhookId, (byWebhook.get(webhookId) ?? 0) + 1);
    const sent = settle(delivery, tries).finally(() => {
      inFlight.delete(sent);
      const left = byWebhook.get(webhookId)! - 1;
      if (left > 0) byWebhook.set(webhookId, left);
      else {
        byWebhook.delete(webhookId);
        wake();
      }
    });
    inFlight.add(sent);
    return sent;
  }

  async function settle(delivery: ClaimedDelivery, tries: 'all' | 'one'): Promise<AttemptOutcome> {
    const outcome = await attempt(deps, delivery, aborted.signal);
    const { retryInMs, ...last } = outcome;
    const ended: AttemptOutcome =
      tries === 'one' && retryInMs !== undefined ? { ...last, status: 'failed' } : outcome;
    const fields = { webhook: delivery.webhookId, event: delivery.event.id, attempt: delivery.attempts };
    if (outcome.disable !== undefined) log.warn({ ...fields, reason: outcome.disable }, 'webhook disabled');
    else if (ended.status === 'failed')
      log.warn({ ...fields, error: ended.error }, 'webhook delivery failed');
    else log.debug({ ...fields, ...ended }, 'webhook delivery attempted');
    if (tries === 'all' && !aborted.signal.aborted) deps.onAttempt?.(ended.status);
    // A stop releases aborted deliveries together.
    if (!aborted.signal.aborted)
      await store
        .finish(worker, delivery, ended)
        .catch((error: unknown) =>
          log.error({ err: error, ...fields }, 'cannot store the result of a webhook delivery'),
        );
    return ended;
  }

  async function every(ms: number, work: () => void | Promise<void>): Promise<void> {
    for (;;) {
      await sleep(clock, ms, stopped.signal);
      if (stopped.signal.aborted) return;
      await work();
    }
  }

  async function sweep(): Promise<void> {
    try {
      while (!stopped.signal.aborted && duties.isHolder()) {
        const removed = await store.removeDeliveries(time.earliest() - retentionMs, sweepBatch);
        if (removed < sweepBatch) return;
      }
    } catch (error) {
      log.error({ err: error }, 'cannot delete old webhook deliveries; retrying in an hour');
    }
  }

  async function stopOnce(): Promise<void> {
    stopped.abort();
    if (!loops) return;
    await Promise.all([loops, round]);
    const settled = new AbortController();
    await Promise.race([Promise.all(inFlight), sleep(clock, stopGraceMs, settled.signal)]);
    settled.abort();
    if (inFlight.size === 0) return;
    aborted.abort();
    await Promise.all(inFlight);
    await store
      .release(worker)
      .catch((error: unknown) => log.error({ err: error }, 'cannot release webhook deliveries'));
  }

  return {
    /** Checks for due deliveries now. */
    wake,
    get hasRoom() {
      return inFlight.size < maxInFlight;
    },
    /** Sends a claimed delivery once, without retries, and stores the result. */
    sendOnce: (delivery: ClaimedDelivery) => send(delivery, 'one'),

    async start() {
      if (deps.exclusive) await store.release(null);
      if (stopping) return;
      loops = Promise.all([every(pollMs, wake), every(sweepMs, sweep)]);
      wake();
    },

    stop: () => (stopping ??= stopOnce()),
  };
}
