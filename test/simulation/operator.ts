import { serverActor } from '../../src/core/audit.ts';
import type { PauseScope } from '../../src/core/controls.ts';
import type { LineCall } from '../../src/inference/inference.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

/** Time within which a pause is in force on every undisturbed process. */
const inForceMs = 1_000;

/** Pauses and resumes batches as planned, and checks that no process sends lines that are paused. */
export class Operator {
  #world: World;
  /** Pauses in the database, with the time at which they got there. */
  #pauses: (PauseScope & { at: number })[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  start(): void {
    const { plan, time, database } = this.#world;
    const { controls } = database.store;
    for (const { at, ms, scope } of plan.pauses ?? []) {
      const [pause, resume] = [controls.pause.bind(controls), controls.resume.bind(controls)];
      time.after(at, () => void this.#change('pauses', scope, pause));
      time.after(at + ms, () => void this.#change('resumes', scope, resume));
    }
  }

  /** Judges a line that a process sends. */
  judge(process: SimProcess, { orgId, model }: Pick<LineCall, 'orgId' | 'model'>): void {
    const { time, observer } = this.#world;
    const stopping = this.#pauses.filter(
      (scope) => (scope.orgId ?? orgId) === orgId && (scope.model ?? model.id) === model.id,
    );
    const since = Math.max(0, ...stopping.map(({ at }) => time.elapsed - at));
    if (Math.min(since, time.elapsed - process.troubledAt) > inForceMs)
      observer.fail(`${process.name} sends a line of ${orgId} for ${model.id}, paused for ${since} ms`);
  }

  async #change(
    what: 'pauses' | 'resumes',
    scope: PauseScope,
    change: (scope: PauseScope, stamp: { actor: typeof serverActor; at: number }) => Promise<void>,
  ): Promise<void> {
    const { time, trace, database } = this.#world;
    await change(scope, { actor: serverActor, at: time.clock.now() });
    trace.add('operator', `${what} ${JSON.stringify(scope)}`);
    const { pauses } = await database.store.controls.read();
    const before = this.#pauses;
    this.#pauses = pauses.map(({ orgId, model }) => {
      const same = before.find((each) => each.orgId === orgId && each.model === model);
      return { orgId, model, at: same?.at ?? time.elapsed };
    });
  }
}
