import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { BatchState, Store } from '../store/store.ts';
import type { DbTime } from './db-time.ts';
import type { WorkInHand } from './work-in-hand.ts';

const watchMs = 500;
const expireAtOnce = 100;
const leftoversAtOnce = 4;

export interface WatchParts {
  store: Store;
  work: WorkInHand;
  clock: Clock;
  time: DbTime;
  log: Log;
  /** The end of some batch was decided: there is closing work. */
  onEnding: () => void;
  /** A finished batch still has rows. */
  purge: (batchId: string) => Promise<void>;
}

/**
 * Twice a second: begins the end of batches whose window is over, learns which batches in hand were cancelled elsewhere,
 * and stops them (batch-engine.md, "Cancel" and "Expiry").
 */
export class Watch {
  #parts: WatchParts;
  #timer: Timer | null = null;
  #round: Promise<void> | null = null;
  #stopped = true;

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#stopped = false;
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#round;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = this.#parts.clock.after(watchMs, () => {
      this.#round = this.#look()
        .catch((error: unknown) => this.#parts.log.error({ err: error }, 'the batches could not be watched'))
        .finally(() => this.#schedule());
    });
  }

  async #look(): Promise<void> {
    const { store, work, time, onEnding, purge } = this.#parts;
    const expired = await store.batches.expire(time.now(), expireAtOnce);
    const held = work.batches().map((batch) => batch.id);
    if (held.length > 0) {
      const states = new Map((await store.batches.states(held)).map((state) => [state.id, state]));
      for (const id of held) this.#follow(id, states.get(id));
    }
    if (expired.length > 0) onEnding();
    for (const id of await store.results.leftovers(leftoversAtOnce)) await purge(id);
  }

  #follow(id: string, state: BatchState | undefined): void {
    const { work, time } = this.#parts;
    if (!state) return work.stopBatch(id, 0);
    if (state.closing === null || state.closing === 'completed') return;
    // An expired batch is over at expires_at; what is accepted after that only drains buffers.
    const grace = state.closing === 'cancelled' ? state.acceptUntil - time.now() : 0;
    work.stopBatch(id, grace);
  }
}
