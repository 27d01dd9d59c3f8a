import type { Clock } from '../../src/base/clock.ts';
import type { Random } from '../../src/base/random.ts';
import { ApiError } from '../../src/core/errors.ts';
import { chooseReplica } from '../../src/engines/pool/choose-replica.ts';
import { withHeadroom } from '../../src/engines/pool/concurrency/concurrency-limit.ts';
import { Outcomes } from '../../src/engines/pool/health/outcomes.ts';
import { averagePace, comparePaces } from '../../src/engines/pool/pace.ts';
import { errorForNetwork } from '../../src/engines/upstream/connection/network-errors.ts';
import { Admission } from '../../src/inference/admission.ts';
import type { SimServer } from './servers.ts';

/** Time without requests after a failure, in place of the breaker with its probes. */
const downMs = 5_000;
/** Answers between two comparisons of the replicas, as in `calls.ts`. */
const compareEvery = 64;
const timeouts = { connectMs: 5_000, firstByteMs: 600_000, idleMs: 60_000, totalMs: 3_600_000 };

/** A server as one process sees it. */
interface Replica {
  readonly name: string;
  readonly server: SimServer;
  readonly capacity: number;
  inFlight: number;
  pace: number;
  slowness: number;
  readonly rank: number;
  isUp: boolean;
}

/** Servers of one model, for one process. */
export class SimPool {
  readonly admission: Admission;
  readonly outcomes = new Outcomes();
  readonly waiting = null;
  readonly #clock: Clock;
  readonly #replicas: readonly Replica[];
  readonly #onRoom: () => void;
  #cancels = new Set<() => void>();
  #answers = 0;
  /** Number of replicas that are down or full. */
  #unavailable = 0;
  slots = 0;
  maxInFlight = 0;
  readonly maxLines = Infinity;
  readonly linesGiveWay = false;

  constructor(servers: readonly SimServer[], clock: Clock, random: Random, onRoom: () => void) {
    this.#clock = clock;
    this.#onRoom = onRoom;
    this.#replicas = servers.map((server, at) => ({
      name: `server-${at}`,
      server,
      capacity: withHeadroom(server.slots),
      inFlight: 0,
      pace: 0,
      slowness: 1,
      rank: random.float(),
      isUp: true,
    }));
    this.#count();
    this.admission = new Admission(this, clock);
  }

  /** Runs a request of `work` that takes `ms` in a slot. */
  async run(ms: number, work: number, prefix: string): Promise<void> {
    const leave = this.admission.enter('batch');
    const tried = new Set<Replica>();
    try {
      for (;;) {
        const replica = this.#choose(prefix, tried);
        if (!replica) throw new ApiError('engine_overloaded', 'No server has room.');
        const error = await this.#send(replica, ms, work);
        if (!error) return leave(true);
        if (tried.size > 0) throw error;
        tried.add(replica);
      }
    } catch (error) {
      leave();
      this.outcomes.failed(this.#clock.monotonic(), false);
      throw error;
    }
  }

  #choose(prefix: string, tried: ReadonlySet<Replica>): Replica | undefined {
    // The usual case, without copies of hundreds of replicas for each line.
    if (this.#unavailable === 0 && tried.size === 0)
      return chooseReplica(this.#replicas, this.#replicas, prefix);
    const all = this.#replicas.filter((replica) => replica.isUp && !tried.has(replica));
    const free = all.filter(({ inFlight, capacity }) => inFlight < capacity);
    return chooseReplica(free, all, prefix);
  }

  /** Ends all requests, as the death of the process does. */
  die(): void {
    for (const cancel of this.#cancels) cancel();
    this.#cancels = new Set();
  }

  async #send(replica: Replica, ms: number, work: number): Promise<ApiError | null> {
    const sentAt = this.#clock.monotonic();
    this.#load(replica, 1);
    const wasAnswered = await new Promise<boolean>((resolve) => {
      const cancel = replica.server.send(ms, (isAnswered) => {
        this.#cancels.delete(cancel);
        resolve(isAnswered);
      });
      this.#cancels.add(cancel);
    });
    this.#load(replica, -1);
    if (!wasAnswered) {
      this.#down(replica);
      return errorForNetwork(new Error('The server died.'), true, timeouts);
    }
    replica.pace = averagePace(replica.pace, (this.#clock.monotonic() - sentAt) / work);
    if (++this.#answers % compareEvery === 0) comparePaces(this.#replicas);
    this.outcomes.answered(sentAt);
    return null;
  }

  #load(replica: Replica, by: 1 | -1): void {
    const isFull = () => replica.inFlight >= replica.capacity;
    if (isFull() && replica.isUp) this.#unavailable--;
    replica.inFlight += by;
    if (isFull() && replica.isUp) this.#unavailable++;
  }

  #down(replica: Replica): void {
    if (!replica.isUp) return;
    replica.isUp = false;
    this.#count();
    this.#clock.after(downMs, () => {
      replica.isUp = true;
      this.#count();
      this.#onRoom();
    });
  }

  #count(): void {
    const up = this.#replicas.filter(({ isUp }) => isUp);
    const full = up.filter(({ inFlight, capacity }) => inFlight >= capacity);
    this.#unavailable = this.#replicas.length - up.length + full.length;
    this.slots = up.reduce((sum, { server }) => sum + server.slots, 0);
    this.maxInFlight = up.reduce((sum, { capacity }) => sum + capacity, 0);
  }
}
