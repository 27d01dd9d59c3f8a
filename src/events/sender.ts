import { createTimeBounds, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { AttemptOutcome, ClaimedDelivery, WebhookStore } from '../store/contract/webhooks.ts';
import { attempt, attemptMs, type AttemptDeps } from './attempt.ts';

export interface SenderDeps extends AttemptDeps {
  store: WebhookStore;
  log: Log;
  /** Who holds the leases of this process. */
  worker: string;
  /** No other process uses this database: whatever is leased at the start is nobody's. */
  exclusive: boolean;
}

const pollMs = 1_000;
/** Longer than any attempt: nobody else sends what is still being sent. */
export const deliveryLeaseMs = 3 * attemptMs;
/** How many one receiver gets at a time. */
const perReceiver = 8;
const maxInFlight = 256;
/** How long attempts in flight may go on after a stop. */
const stopGraceMs = 2_000;
const retentionMs = 30 * 86_400_000;
const sweepMs = 3_600_000;
const sweepBatch = 500;

/**
 * Sends what is due. Receivers have turns of a few deliveries, and each waits for its own turn alone to end: one that is
 * slow, or does not answer, holds nobody else up. What a process that died had claimed is claimed again when its lease has
 * run out.
 */
export function createSender(parts: SenderDeps) {
  const { store, clock, log, worker } = parts;
  const time = createTimeBounds(clock);
  const stopped = new AbortController();
  const broken = new AbortController();
  const inFlight = new Set<Promise<unknown>>();
  /** Deliveries in flight, by webhook. */
  const turns = new Map<string, number>();
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
      const asked = { leaseMs: deliveryLeaseMs, limit, each: perReceiver, busy: [...turns.keys()] };
      const claimed = await store.claim(worker, asked).catch((error: unknown) => {
        log.error({ err: error }, 'webhook deliveries cannot be claimed');
        return [];
      });
      for (const delivery of claimed) void send(delivery);
    }
  }

  function send(delivery: ClaimedDelivery, tries: 'all' | 'one' = 'all'): Promise<AttemptOutcome> {
    const { webhookId } = delivery;
    turns.set(webhookId, (turns.get(webhookId) ?? 0) + 1);
    const sent = settle(delivery, tries).finally(() => {
      inFlight.delete(sent);
      const left = turns.get(webhookId)! - 1;
      if (left > 0) turns.set(webhookId, left);
      else {
        turns.delete(webhookId);
        wake();
      }
    });
    inFlight.add(sent);
    return sent;
  }

  async function settle(delivery: ClaimedDelivery, tries: 'all' | 'one'): Promise<AttemptOutcome> {
    const outcome = await attempt(parts, delivery, broken.signal);
    const { retryInMs, ...last } = outcome;
    const ended: AttemptOutcome =
      tries === 'one' && retryInMs !== undefined ? { ...last, status: 'failed' } : outcome;
    const fields = { webhook: delivery.webhookId, event: delivery.event.id, attempt: delivery.attempts };
    if (outcome.disable !== undefined) log.warn({ ...fields, reason: outcome.disable }, 'webhook disabled');
    else if (ended.status === 'failed')
      log.warn({ ...fields, error: ended.error }, 'webhook delivery given up');
    else log.debug({ ...fields, ...ended }, 'webhook delivery attempted');
    // What was broken off by a stop is given back with everything else.
    if (!broken.signal.aborted)
      await store
        .finish(worker, delivery, ended)
        .catch((error: unknown) =>
          log.error({ err: error, ...fields }, 'the outcome of a webhook delivery cannot be written'),
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
      while (!stopped.signal.aborted) {
        const removed = await store.removeDeliveries(time.earliest() - retentionMs, sweepBatch);
        if (removed < sweepBatch) return;
      }
    } catch (error) {
      log.error({ err: error }, 'sweeping webhook deliveries failed; the next round tries again');
    }
  }

  async function stopOnce(): Promise<void> {
    stopped.abort();
    // Not started, it holds nothing.
    if (!loops) return;
    await Promise.all([loops, round]);
    const settled = new AbortController();
    await Promise.race([Promise.all(inFlight), sleep(clock, stopGraceMs, settled.signal)]);
    settled.abort();
    if (inFlight.size === 0) return;
    broken.abort();
    await Promise.all(inFlight);
    await store
      .release(worker)
      .catch((error: unknown) => log.error({ err: error }, 'webhook deliveries cannot be given back'));
  }

  return {
    /** Looks at once for what is due. */
    wake,
    /** Whether there is room for one that is sent at once. */
    get hasRoom() {
      return inFlight.size < maxInFlight;
    },
    /** Sends a delivery that this worker has claimed, and writes down how that ended; it is not tried again. */
    sendOnce: (delivery: ClaimedDelivery) => send(delivery, 'one'),

    async start() {
      if (parts.exclusive) await store.release(null);
      if (stopping) return;
      loops = Promise.all([every(pollMs, wake), every(sweepMs, sweep)]);
      wake();
    },

    stop: () => (stopping ??= stopOnce()),
  };
}
