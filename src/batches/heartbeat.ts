import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Generate } from '../generate/generate.ts';
import type { Lease, Store } from '../store/store.ts';
import type { DbTime } from './db-time.ts';

const beatMs = 10_000;
const leastWaitMs = 1_000;
/** An owner silent for this long is dead: others take its work, and it drops it itself. */
export const leaseLifeMs = 30_000;

export interface HeartbeatParts {
  store: Store;
  generate: Pick<Generate, 'interactiveLoad' | 'setOthers'>;
  worker: string;
  clock: Clock;
  time: DbTime;
  log: Log;
  /** Passes every lease in hand to `fn`, while no claim is under way. */
  withLeases: (fn: (leases: Lease[]) => Promise<void>) => Promise<void>;
  /** Chunks of dead owners were taken back. */
  onReaped: () => void;
  /** This process was silent too long: its leases are gone. */
  onLost: () => void;
}

/**
 * The lease on everything this process holds (batch-engine.md, "Leases"). A beat learns the database's time and the
 * others' load, gives back what the store thinks we hold but we do not, and takes chunks back from the dead.
 */
export class Heartbeat {
  #parts: HeartbeatParts;
  #timer: Timer | null = null;
  /** When the last one that arrived was sent, and when the last one was. */
  #lastBeat = Number.POSITIVE_INFINITY;
  #begun = 0;
  #stopped = true;
  #beating: Promise<void> | null = null;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
  }

  /** The first beat must succeed: without it nothing may be claimed. */
  async start(): Promise<void> {
    this.#stopped = false;
    await this.#beat();
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#beating;
  }

  #schedule(): void {
    if (this.#stopped) return;
    const { clock } = this.#parts;
    // From beat to beat, however long the last one took.
    const wait = Math.max(leastWaitMs, this.#begun + beatMs - clock.monotonic());
    this.#timer = clock.after(wait, () => {
      this.#beating = this.#beat()
        .catch((error: unknown) => this.#missed(error))
        .finally(() => this.#schedule());
    });
  }

  async #beat(): Promise<void> {
    const { store, generate, worker, clock, time, withLeases, onReaped } = this.#parts;
    if (clock.monotonic() - this.#lastBeat >= leaseLifeMs) this.#parts.onLost();
    const before = (this.#begun = clock.monotonic());
    const { now, others } = await store.workers.beat(worker, { interactive: generate.interactiveLoad() });
    time.learn(now, before);
    this.#lastBeat = before;
    generate.setOthers(sumLoads(others.map((load) => load.interactive)), others.length + 1);
    await withLeases(async (leases) => {
      await store.workers.keepOnly(worker, leases);
    });
    if ((await store.workers.reap(now - leaseLifeMs)) > 0) onReaped();
  }

  #missed(error: unknown): void {
    const { log, clock, onLost } = this.#parts;
    log.error({ err: error }, 'the heartbeat failed');
    if (clock.monotonic() - this.#lastBeat >= leaseLifeMs) onLost();
  }
}

function sumLoads(loads: Record<string, number>[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const load of loads) for (const [model, n] of Object.entries(load)) sum[model] = (sum[model] ?? 0) + n;
  return sum;
}
