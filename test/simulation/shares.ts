import { virtualEpoch } from '../support/virtual-clock.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

/** Quiet time before processes are judged, so that leases, heartbeats and back-offs have settled. */
const settledMs = 60_000;
/** Waiting time after which work should have been claimed. */
const waitingMs = 5_000;
/** Maximum number of times that an org with waiting work is passed over: of all, and for each org of the world. */
const maxPassed = { min: 80, perOrg: 8 };

/** Checks that engines are busy while work waits, and that every org gets its share. */
export class Shares {
  #world: World;
  #idle = new Map<string, number>();
  #passed = new Map<string, number>();
  #maxPassed: number;

  constructor(world: World) {
    this.#world = world;
    const orgs = new Set(world.plan.batches.map(({ orgId }) => orgId)).size;
    this.#maxPassed = Math.max(maxPassed.min, maxPassed.perOrg * orgs);
  }

  /** A line of a batch was sent: every other org with work waiting for the model was passed over. */
  sent(batchId: string, model: string): void {
    const org = this.#orgOf(batchId);
    this.#passed.delete(`${org} at ${model}`);
    if (!this.#isSettled()) return;
    for (const other of this.#waiting(model)) {
      if (other === org) continue;
      const key = `${other} at ${model}`;
      const passed = (this.#passed.get(key) ?? 0) + 1;
      this.#passed.set(key, passed);
      if (passed > this.#maxPassed) this.#world.observer.fail(`${key} was passed over ${passed} times`);
    }
  }

  /** Called once a second with the lines that a process has in flight on a model. */
  sample(process: SimProcess, model: string, inFlight: number, refusedAt: number): void {
    const { plan, observer, time, processes, refusals } = this.#world;
    const awayUntil = Math.max(refusedAt, refusals.get(model)?.until ?? refusedAt);
    const key = `${process.name} at ${model}`;
    const alive = processes.filter((each) => each.alive).length;
    const least = Math.max(1, Math.floor((plan.slots * 3) / 4 / alive));
    const mayIdle = inFlight >= least || !this.#isSettled() || time.elapsed - awayUntil < settledMs;
    const idle = mayIdle || this.#waiting(model).size === 0 ? 0 : (this.#idle.get(key) ?? 0) + 1;
    this.#idle.set(key, idle);
    if (idle > 3)
      observer.fail(`${key} has ${inFlight} lines in flight of ${plan.slots} slots while work waits`);
  }

  #isSettled(): boolean {
    const { processes, time } = this.#world;
    return processes.every(
      ({ alive, troubledAt, diedAt }) => time.elapsed - (alive ? troubledAt : diedAt) > settledMs,
    );
  }

  /** Orgs with chunks that have been claimable for some time. */
  #waiting(model: string): Set<string> {
    const { observer, time } = this.#world;
    const orgs = new Set<string>();
    for (const [key, chunk] of observer.fences.chunks) {
      const waits = time.elapsed + virtualEpoch - chunk.since > waitingMs;
      if (chunk.state !== 'ready' || chunk.model !== model || chunk.kills > 1 || !waits) continue;
      const batchId = key.slice(0, key.lastIndexOf('/'));
      if (observer.endingOf(batchId) === null) orgs.add(this.#orgOf(batchId));
    }
    return orgs;
  }

  #orgOf(batchId: string): string {
    const name = this.#world.nameOf(batchId);
    return this.#world.plan.batches.find((batch) => batch.name === name)?.orgId ?? '';
  }
}
